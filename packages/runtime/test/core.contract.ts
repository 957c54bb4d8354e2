// All suites of the core, for every host.

import { admissionContract } from "./admission.contract.ts";
import { cancelAbortContract } from "./cancel-abort.contract.ts";
import { metadataContract } from "./metadata.contract.ts";
import { oneSessionContract } from "./one-session.contract.ts";
import { queueContract } from "./queue.contract.ts";
import { capabilitiesContract } from "./capabilities.contract.ts";
import { grantsContract } from "./grants.contract.ts";
import { callsContract } from "./calls.contract.ts";
import { programsContract } from "./programs.contract.ts";
import { approvalsContract } from "./approvals.contract.ts";
import { denialsContract } from "./denials.contract.ts";
import { readContract } from "./read.contract.ts";
import { recoveryContract } from "./recovery.contract.ts";
import { settlementContract } from "./settlement.contract.ts";
import { longTextsContract } from "./long-texts.contract.ts";
import { partialsContract } from "./partials.contract.ts";
import { watchContract } from "./watch.contract.ts";
import { eagerContract } from "./eager.contract.ts";
import { hostStreamContract } from "./host-stream.contract.ts";
import { harnessContract } from "./harness.contract.ts";
import { answersContract } from "./answers.contract.ts";
import { untoldContract } from "./untold.contract.ts";
import { outsideContract } from "./outside.contract.ts";
import { keptAgentsContract } from "./kept-agents.contract.ts";
import { directoryContract } from "./directory.contract.ts";
import { treeContract } from "./tree.contract.ts";
import type { WithSql } from "./sql.contract.ts";
import { modelsContract } from "./models.contract.ts";
import { steersContract } from "./steers.contract.ts";
import { withdrawContract } from "./withdraw.contract.ts";

import { writerContract } from "./writer.contract.ts";

export function coreContract(host: string, withSql: WithSql): void {
  admissionContract(host, withSql);
  withdrawContract(host, withSql);
  cancelAbortContract(host, withSql);
  metadataContract(host, withSql);
  queueContract(host, withSql);
  oneSessionContract(host, withSql);
  steersContract(host, withSql);
  callsContract(host, withSql);
  capabilitiesContract(host, withSql);
  grantsContract(host, withSql);
  approvalsContract(host, withSql);
  denialsContract(host, withSql);
  programsContract(host, withSql);
  recoveryContract(host, withSql);
  settlementContract(host, withSql);
  watchContract(host, withSql);
  partialsContract(host, withSql);
  longTextsContract(host, withSql);
  eagerContract(host, withSql);
  hostStreamContract(host, withSql);
  harnessContract(host, withSql);
  untoldContract(host, withSql);
  answersContract(host, withSql);
  outsideContract(host, withSql);
  keptAgentsContract(host, withSql);
  directoryContract(host, withSql);
  treeContract(host, withSql);
  modelsContract(host, withSql);
  writerContract(host, withSql);
  readContract(host, withSql);
}
