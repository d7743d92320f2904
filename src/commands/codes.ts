/**
 * `model-gateway codes create|list|revoke`: manages redeem codes. `create` writes only the codes to standard output,
 * one a line; they cannot be shown again, not even where the command is repeated under its idempotency key.
 */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { OperatorService, type RedeemCode } from "../../gen/modelgateway/v1/operator_pb.ts";
import { formatDecimal } from "../runtime/decimal.ts";
import { checkExpiry, clockOf, readAmount, readExpiry, table } from "./command.ts";
import { createdBefore, UsageError, wrongAction } from "./line/errors.ts";
import { readOptions } from "./line/read-options.ts";
import { type CallOperator, withOperator, withOperatorAndStorage } from "./operator.ts";

const { createRedeemCodes, listRedeemCodes, revokeRedeemCodes } = OperatorService.method;

export async function codes([action, ...args]: readonly string[]): Promise<void> {
  switch (action) {
    case "create":
      return createCodes(args);
    case "list": {
      const { values } = readOptions("codes list", args);
      if (values.batch !== undefined) checkBatch("codes list: --batch", values.batch);
      return withOperatorAndStorage(values.config, (ask, storage) => listCodes(ask, clockOf(storage), values.batch));
    }
    case "revoke": {
      const { values, positionals } = readOptions("codes revoke", args);
      const batchId = positionals[0] as string;
      checkBatch("codes revoke", batchId);
      return withOperator(values.config, async (ask) => {
        const { revoked } = await ask(revokeRedeemCodes, { batchId });
        console.error(`Took back ${revoked} of the codes of ${batchId}.`);
      });
    }
  }
  throw wrongAction("codes", action);
}

/** checkBatch throws a UsageError for what is no batch. It may be a code in the wrong place, and is not repeated. */
function checkBatch(what: string, batchId: string): void {
  if (batchId.startsWith("bat_")) return;
  throw new UsageError(`${what} wants an id that begins with bat_, as \`codes list\` shows it`);
}

async function createCodes(args: readonly string[]): Promise<void> {
  const { values } = readOptions("codes create", args);
  const amount = BigInt(readAmount("--amount", values.amount));
  const { count = "1", expires, note, "idempotency-key": key } = values;
  if (!/^\d{1,4}$/.test(count) || Number(count) < 1 || Number(count) > 1000)
    throw new UsageError("--count: expected a whole number from 1 to 1000");
  const expiresAt = expires === undefined ? undefined : readExpiry(expires);
  const more = { ...(expiresAt && { expiresAt }), ...(note === undefined ? {} : { note }) };
  await withOperatorAndStorage(values.config, async (ask, storage) => {
    checkExpiry(expiresAt, clockOf(storage)());
    const { batchId, codes } = await ask(createRedeemCodes, { amount, count: Number(count), ...more }, { key });
    if (codes.length === 0) throw createdBefore(batchId, "codes revoke");
    console.error(`Created ${batchId}. Copy the codes now: they are not shown again.`);
    for (const code of codes) console.log(code);
  });
}

async function listCodes(ask: CallOperator, clock: () => number, batchId: string | undefined): Promise<void> {
  const rows: string[][] = [];
  for (let pageToken: string | undefined; ; ) {
    const chosen = { ...(batchId === undefined ? {} : { batchId }), ...(pageToken === undefined ? {} : { pageToken }) };
    const page = await ask(listRedeemCodes, { pageSize: 1000, ...chosen });
    const now = clock();
    rows.push(...page.codes.map((code) => row(code, now)));
    pageToken = page.nextPageToken;
    if (pageToken === undefined) break;
  }
  console.log(table(["BATCH", "CODE", "AMOUNT", "STATUS", "CREATED", "CLAIMED BY"], rows));
}

function row(code: RedeemCode, now: number): string[] {
  const created = code.createdAt ? timestampDate(code.createdAt).toISOString() : "";
  return [code.batchId, code.mask, formatDecimal(code.amount), statusOf(code, now), created, code.claimedBy ?? ""];
}

function statusOf({ claimedAt, revokedAt, expiresAt }: RedeemCode, now: number): string {
  if (claimedAt) return "claimed";
  if (revokedAt) return "revoked";
  return expiresAt && timestampDate(expiresAt).getTime() <= now ? "expired" : "open";
}
