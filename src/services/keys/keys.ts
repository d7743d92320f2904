/**
 * KeyService: the API keys of the caller's account. Keys of other accounts are reported as unknown.
 *
 * The administrator privilege is a field of SetAdministrator alone, which only a session may call: no request by an
 * API key can grant it.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import {
  CreateKeyResponseSchema,
  DeleteKeyResponseSchema,
  KeyDescriptionSchema,
  type KeyService,
  ListKeysResponseSchema,
  RotateKeyResponseSchema,
  SetAdministratorResponseSchema,
  type UpdateKeyRequest,
  UpdateKeyResponseSchema,
} from "../../../gen/modelgateway/v1/keys_pb.ts";
import type { Caller, ServiceImplementation } from "../../call/call.ts";
import { invalidValue, resourceNotFound, spendingUnknown } from "../../call/refusals.ts";
import { creditWhenRead } from "../../pipeline/admit/known-keys.ts";
import type { AccountRate } from "../../pipeline/admit/limit.ts";
import { formatAmount, formatDecimal } from "../../runtime/decimal.ts";
import { hashKeySecret, maskKeySecret, newKeySecret } from "../../runtime/secrets.ts";
import type { ApiKey, KeyStore, KeyWithAccount } from "../../storage/keys.ts";
import { limitOf, unreachedLimit } from "../../storage/money/bounds.ts";
import type { BudgetStore } from "../../storage/money/budget-store.ts";
import type { Storage, Stores, Transact } from "../../storage/storage.ts";
import type { Catalog } from "../../targets/catalog.ts";
import { accountBudgets, readBudgetList } from "../accounts/budget-messages.ts";
import { asked } from "../asked.ts";
import { createOnce } from "../idempotency.ts";
import { pageOf } from "../page.ts";
import { refuseUnknown } from "../unknown-fields.ts";
import { whole } from "../whole.ts";
import { issueKey } from "./issue-key.ts";
import { readLimits } from "./key-limits.ts";
import { keyMessages, shownKey } from "./key-message.ts";
import { readPermissions } from "./key-permissions.ts";
import { readChange, readCreditLimit, readExpiry } from "./key-request.ts";

export interface KeyParts {
  readonly keys: KeyStore;
  readonly transact: Transact;
  readonly budgets: BudgetStore;
  readonly recall: Storage["recall"];
  readonly allKnow: Storage["allKnow"];
  readonly catalog: Catalog;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** settings returns the most keys of an account. */
  readonly settings: () => { readonly maxKeysPerAccount: number };
  /** unit is the code of the unit of money, such as "JPY". */
  readonly unit: string;
  /** accountRate returns the state of the rate limit of a caller's account. */
  readonly accountRate: (caller: Caller) => AccountRate | Promise<AccountRate>;
  /**
   * countCreation counts a key creation against the RPC's rate. The returned function takes the count back if no key
   * was created. Throws or rejects with a Refusal.
   */
  readonly countCreation: (accountId: string, method: DescMethod) => PromiseLike<() => void> | (() => void);
}

/** noPageLimit is more keys than an account can have. */
const noPageLimit = 2 ** 32;

/** defaultOverlapSeconds is how long a secret stays valid after its rotation, unless the request sets it. */
const defaultOverlapSeconds = 86_400;

export function keyService(parts: KeyParts): ServiceImplementation<typeof KeyService> {
  return { ...secretRpcs(parts), ...keyRpcs(parts) };
}

type Rpcs<M extends keyof ServiceImplementation<typeof KeyService>> = Pick<ServiceImplementation<typeof KeyService>, M>;

/** secretRpcs are the RPCs whose answers contain a secret. */
function secretRpcs(parts: KeyParts): Rpcs<"createKey" | "rotateKey"> {
  const { keys, catalog, clock, settings } = parts;
  return {
    async createKey(call) {
      const request = call.request.message();
      const { name = "", creditLimit, models, expiresAt, budgets, extra } = request;
      const { accountId } = call.caller;
      const now = clock();
      let hasMade = false;
      const giveBack = await parts.countCreation(accountId, call.method);
      const make = async ({ keys }: Stores) => {
        refuseUnknown(extra);
        const { key, secret } = await issueKey(keys, {
          accountId,
          name,
          admin: false,
          now,
          maxKeys: settings().maxKeysPerAccount,
          creditLimit: readCreditLimit(creditLimit),
          models: models && readPermissions(models, catalog),
          expiresAt: readExpiry(expiresAt, now),
          budgets: readBudgetList(budgets, null, { byOperator: false, now }),
          limits: readLimits(request, catalog),
        });
        return { id: key.id, key, secret };
      };
      try {
        const { id, made, headers } = await createOnce(parts.transact, call, now, make);
        hasMade = made !== undefined;
        const key = made?.key ?? known(await keys.find(accountId, id), id);
        const shown = await shownKey(parts.budgets, key, now, made?.secret);
        return whole(CreateKeyResponseSchema, { key: shown }, headers);
      } finally {
        if (!hasMade) giveBack();
      }
    },
    async rotateKey(call) {
      const { id = "", overlapSeconds = defaultOverlapSeconds, extra } = call.request.message();
      const { accountId } = call.caller;
      refuseUnknown(extra, ["overlap_seconds"]);
      const now = clock();
      const rotate = async ({ keys }: Stores) => {
        const secret = newKeySecret();
        const previousUntil = overlapSeconds === 0 ? null : now + overlapSeconds * 1000;
        const fresh = { hash: hashKeySecret(secret), mask: maskKeySecret(secret), previousUntil };
        return { id, key: known(await keys.rotate(accountId, id, fresh), id), secret };
      };
      const { made, headers } = await createOnce(parts.transact, call, now, rotate);
      const key = made?.key ?? known(await keys.find(accountId, id), id);
      const shown = await shownKey(parts.budgets, key, now, made?.secret);
      return whole(RotateKeyResponseSchema, { key: shown }, headers);
    },
  };
}

function keyRpcs(parts: KeyParts): Rpcs<"listKeys" | "updateKey" | "deleteKey" | "setAdministrator" | "describeKey"> {
  const { keys, clock } = parts;
  const ofAccount = async ({ account_id, account_budgets }: KeyWithAccount, now: number) => {
    const budgets = await accountBudgets(parts.budgets, [{ id: account_id, budgets: account_budgets }], now);
    return [...(budgets.get(account_id) ?? [])];
  };
  const shown = (key: ApiKey, now: number) => shownKey(parts.budgets, key, now);
  return {
    async listKeys({ request, caller }) {
      const { pageSize, pageToken, tag, owner, extra } = request.message();
      refuseUnknown(extra, ["page_size", "page_token", "tag", "owner"]);
      const page = { pageSize: pageSize ?? noPageLimit, pageToken };
      // As they are stored.
      const labels = { tag: asked(tag?.trim()), owner: asked(owner?.trim()) };
      const { items, next } = await pageOf(page, "key", (last = "", limit) =>
        keys.page(caller.accountId, last, limit, labels),
      );
      return whole(ListKeysResponseSchema, { keys: await keyMessages(parts.budgets, items, clock()), ...next });
    },
    async updateKey({ request, caller }) {
      const now = clock();
      const key = await updateKey(parts, caller.accountId, request.message(), now);
      return whole(UpdateKeyResponseSchema, { key: await shown(key, now) });
    },
    async deleteKey({ request, caller }) {
      const { id = "", extra } = request.message();
      refuseUnknown(extra);
      if (!(await keys.revoke(id, clock(), caller.accountId))) throw notFound(id);
      return whole(DeleteKeyResponseSchema, { id });
    },
    async setAdministrator({ request, caller }) {
      const { id = "", administrator = false } = request.message();
      const key = known(await keys.setAdministrator(caller.accountId, id, administrator), id);
      return whole(SetAdministratorResponseSchema, { key: await shown(key, clock()) });
    },
    async describeKey({ caller }) {
      const key = known(await keys.findWithAccount(caller.keyId), caller.keyId);
      const { tier, requestsRemaining, keyRequestsRemaining, keyTokensRemaining } = await parts.accountRate(caller);
      const remaining = creditWhenRead(key);
      return whole(KeyDescriptionSchema, {
        key: await shown(key, clock()),
        tier: tier.name,
        requestsPerMinute: tier.requestsPerMinute,
        requestsRemaining,
        ...(keyRequestsRemaining === undefined ? {} : { keyRequestsRemaining }),
        ...(keyTokensRemaining === undefined ? {} : { keyTokensRemaining }),
        ...(remaining === undefined ? {} : { creditRemaining: BigInt(remaining) }),
        unit: parts.unit,
        accountBudgets: await ofAccount(key, clock()),
      });
    },
  };
}

/**
 * updateKey changes a key of an account. Throws a Refusal for one that there is not, for a limit below what it has spent, and for the first
 * limit of a key of which other gateways may know more than is written.
 */
async function updateKey(parts: KeyParts, accountId: string, message: UpdateKeyRequest, now: number): Promise<ApiKey> {
  const { keys, recall, catalog, unit } = parts;
  const { id = "" } = message;
  const before = known(await keys.find(accountId, id), id);
  // A budget that is named by its id keeps it.
  const change = readChange(message, catalog, now, before.budgets);
  const limit = change.credit_limit ?? null;
  const update = async (keys: KeyStore) => {
    const updated = await keys.update(accountId, id, change, now);
    if (updated.kind === "absent") throw notFound(id);
    if (updated.kind === "below") throw belowSpent(updated.key, unit);
    return updated.key;
  };
  if (limit === null) return update(keys);
  const isWhole = await recall(accountId);
  if (limitOf(before) !== null) return update(keys);
  // Calls that run at other gateways may hold, of a key without a limit, what is written only with their leases.
  if (!isWhole) throw spendingUnknown();
  const whole = known(await keys.find(accountId, id), id);
  if (whole.spent + whole.held > limit) throw belowSpent(whole, unit);
  return limitFirst(parts, { accountId, id }, update);
}

/**
 * limitFirst sets a key's first limit by `update`. Until others know that the key has one, their calls may draw on leases of the account,
 * which no limit bounds: so it has one first that nobody reaches, and the limit itself once all know of that, and what they drew until then
 * has come back. Where it is not set in the end, or this process is killed, the key keeps the former: to take it away would take it from
 * whoever sets a first limit at the same time.
 */
async function limitFirst(
  parts: KeyParts,
  of: { readonly accountId: string; readonly id: string },
  update: (keys: KeyStore) => Promise<ApiKey>,
): Promise<ApiKey> {
  const { keys, recall, allKnow, transact } = parts;
  const { accountId, id } = of;
  const isFirst = await transact(async ({ keys }) => {
    const key = known(await keys.find(accountId, id), id);
    // Somebody else may have set one meanwhile, which holds until this one does.
    if (limitOf(key) !== null) return false;
    await keys.update(accountId, id, { credit_limit: unreachedLimit });
    return true;
  });
  if (!isFirst) return update(keys);
  await allKnow();
  if (!(await recall(accountId))) throw spendingUnknown();
  const updated = await transact(async ({ keys }) =>
    known(await keys.find(accountId, id), id).credit_limit === null ? undefined : await update(keys),
  );
  // Somebody has taken all limits from it meanwhile: others may hold by the account again.
  return updated ?? limitFirst(parts, of, update);
}

/** known returns a key that was looked for by an id. Throws a Refusal where there is none. */
export function known<K extends ApiKey>(key: K | undefined, id: string): K {
  if (!key) throw notFound(id);
  return key;
}

/** notFound does not repeat an id of the wrong form: it may be a secret in the wrong field. */
export function notFound(id: string) {
  return resourceNotFound("key", id.startsWith("key_") ? id : maskKeySecret(id));
}

function belowSpent({ spent, held }: ApiKey, code: string) {
  const least = `${formatAmount(spent, { code })} spent and ${formatAmount(held, { code })} reserved`;
  return invalidValue("credit_limit", `the key has ${least}; expected at least ${formatDecimal(spent + held)}`);
}
