/** Creates a user, and an account unless the user joins one; for registration and for the demo. */
import { conflict } from "../../call/refusals.ts";
import { newId } from "../../runtime/ids.ts";
import type { AccountStore } from "../../storage/accounts.ts";
import type { UserStore } from "../../storage/people/users.ts";

export interface UserStores {
  readonly accounts: AccountStore;
  readonly users: UserStore;
}

export interface UserInit {
  readonly email: string;
  readonly passwordHash: string;
  /** accountId is the account that the user joins. Default: a new one. */
  readonly accountId?: string | null | undefined;
  /** accountName is the name of the new account. Default: the e-mail address. */
  readonly accountName?: string | undefined;
  readonly operator: boolean;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

/** maxName is the longest name of an account; e-mail addresses may be longer. */
const maxName = 200;

/**
 * addUser creates and stores a user and returns its id. Throws a Refusal if the e-mail address or the account's name
 * is taken. Call it in a transaction, so that a refusal undoes everything.
 */
export async function addUser(stores: UserStores, init: UserInit): Promise<string> {
  const { email, passwordHash, now } = init;
  const id = newId("usr", now);
  const account_id = init.accountId ?? (await addAccount(stores, init));
  const user = { id, account_id, email, password_hash: passwordHash, created_at: now };
  if (!(await stores.users.insert({ ...user, is_operator: Number(init.operator) }))) {
    throw conflict("EMAIL_TAKEN", { email });
  }
  return id;
}

async function addAccount({ accounts, users }: UserStores, { email, accountName, now }: UserInit): Promise<string> {
  const id = newId("acc", now);
  const name = accountName ?? email.slice(0, maxName);
  if (await accounts.insert({ id, name, created_at: now })) return id;
  // An account without a chosen name is named after the address. The refusal then names the address, not the account.
  if (accountName === undefined && (await users.findByEmail(email))) throw conflict("EMAIL_TAKEN", { email });
  throw conflict("ACCOUNT_NAME_TAKEN", { name });
}
