// The refusal of a document as a whole.

import { OperationError } from "../../failure.ts";

export function badDocument(problem: string): OperationError {
  return new OperationError("bad_document", `The OpenAPI document cannot be used: ${problem}`);
}
