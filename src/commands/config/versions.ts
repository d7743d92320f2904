/** Versions of the configuration, as the commands name them. */
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { UsageError } from "../line/errors.ts";
import type { CallOperator } from "../operator.ts";

/** readVersion reads the number of a version. Throws a UsageError. */
export function readVersion(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError("VERSION: expected the number of a version, as `config versions` shows it");
}

/** highestVersion returns the version in force; 0 where nothing is stored. */
export async function highestVersion(ask: CallOperator): Promise<number> {
  const { versions } = await ask(OperatorService.method.listConfigurations, { pageSize: 1 });
  return versions[0]?.version ?? 0;
}
