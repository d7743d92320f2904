/**
 * How one-time links are made, for whoever makes one: the operator, the command line, the first start. The secret is
 * behind the `#` of the address, which browsers send to no server.
 */
import { LinkKind } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { newId } from "../../runtime/ids.ts";
import { hashToken, newToken } from "../../runtime/secrets.ts";
import type { LinkStore } from "../../storage/people/links.ts";
import type { UserStore } from "../../storage/people/users.ts";

export interface LinkInit {
  readonly kind: LinkKind;
  /** The account that it invites to. Default: whoever registers gets an account of their own. */
  readonly accountId?: string | null | undefined;
  /** The user whose password it sets. */
  readonly userId?: string | null | undefined;
  /** Whom it invites. Default: whoever has it. */
  readonly email?: string | null | undefined;
  readonly validMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface IssuedLink {
  /** Names it: `lnk_…`. It is no secret. */
  readonly id: string;
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** How long a link is good that lets somebody in, unless its maker says otherwise. */
export const defaultValidMs = 3 * 86_400_000;

const setUpValidMs = 86_400_000;

/** Makes and keeps a link. Its secret is returned here and never again. */
export function issueLink(links: LinkStore, init: LinkInit): IssuedLink {
  const { kind, accountId = null, userId = null, email = null, validMs, now } = init;
  const token = newToken();
  const [id, expiresAt] = [newId("lnk", now), now + validMs];
  const leadsTo = { account_id: accountId, user_id: userId, email };
  links.insert({ id, kind, token_hash: hashToken(token), ...leadsTo, created_at: now, expires_at: expiresAt });
  return { id, token, expiresAt };
}

/** Makes the link for the first user, in place of earlier ones; none where somebody operates the gateway already. */
export function issueSetUpLink(
  { users, links }: { readonly users: UserStore; readonly links: LinkStore },
  now: number,
): IssuedLink | undefined {
  if (users.countOperators() > 0) return undefined;
  links.withdraw(LinkKind.SET_UP);
  return issueLink(links, { kind: LinkKind.SET_UP, validMs: setUpValidMs, now });
}

/** The page of the dashboard that each kind opens. */
const pages: Readonly<Record<LinkKind, string>> = {
  [LinkKind.UNSPECIFIED]: "",
  [LinkKind.SET_UP]: "set-up",
  [LinkKind.INVITATION]: "register",
  [LinkKind.PASSWORD]: "reset-password",
};

/** Returns the address to open. `rootUrl` has no slash at its end. */
export function linkUrl(rootUrl: string, kind: LinkKind, token: string): string {
  return `${rootUrl}/dashboard/${pages[kind]}#${token}`;
}
