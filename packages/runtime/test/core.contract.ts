// All suites of the core, for every host.

import { admissionContract } from "./admission.contract.ts";
import { cancelAbortContract } from "./cancel-abort.contract.ts";
import { metadataContract } from "./metadata.contract.ts";
import { queueContract } from "./queue.contract.ts";
import type { WithSql } from "./sql.contract.ts";
import { steersContract } from "./steers.contract.ts";
import { withdrawContract } from "./withdraw.contract.ts";

export function coreContract(host: string, withSql: WithSql): void {
  admissionContract(host, withSql);
  withdrawContract(host, withSql);
  cancelAbortContract(host, withSql);
  metadataContract(host, withSql);
  queueContract(host, withSql);
  steersContract(host, withSql);
}
