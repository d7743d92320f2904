/** How a user is made, and an account for who joins none: by registration, and for the demo alike. */
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
  /** The account that the user joins. Default: a new one. */
  readonly accountId?: string | null | undefined;
  /** What the new account is called. Default: the e-mail address. */
  readonly accountName?: string | undefined;
  readonly operator: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The bound of an account's name; e-mail addresses may be longer. */
const maxName = 200;

/**
 * Makes and keeps a user; returns its id. Throws a Refusal where the e-mail address or the account's name is taken, and
 * is called within a transaction, so that nothing is left of it then.
 */
export function addUser(stores: UserStores, init: UserInit): string {
  const { email, passwordHash, now } = init;
  const id = newId("usr", now);
  const account_id = init.accountId ?? addAccount(stores.accounts, init.accountName ?? email.slice(0, maxName), now);
  const user = { id, account_id, email, password_hash: passwordHash, created_at: now };
  if (!stores.users.insert({ ...user, is_operator: Number(init.operator) })) {
    throw conflict(`There is a user "${email}" already. Sign in, or choose another e-mail address.`);
  }
  return id;
}

function addAccount(accounts: AccountStore, name: string, now: number): string {
  const id = newId("acc", now);
  if (accounts.insert({ id, name, created_at: now })) return id;
  throw conflict(`There is an account "${name}" already. Choose another name.`);
}
