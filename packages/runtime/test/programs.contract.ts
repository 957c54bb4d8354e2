// All suites of programs, for every host.

import { programApprovalsContract } from "./program-approvals.contract.ts";
import { programCallsContract } from "./program-calls.contract.ts";
import { programEndsContract } from "./program-ends.contract.ts";
import { programRecordsContract } from "./program-records.contract.ts";
import { programRecoveryContract } from "./program-recovery.contract.ts";
import { programSnapshotsContract } from "./program-snapshots.contract.ts";
import type { WithSql } from "./sql.contract.ts";

export function programsContract(host: string, withSql: WithSql): void {
  programCallsContract(host, withSql);
  programRecoveryContract(host, withSql);
  programApprovalsContract(host, withSql);
  programEndsContract(host, withSql);
  programSnapshotsContract(host, withSql);
  programRecordsContract(host, withSql);
}
