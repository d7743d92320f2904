/** People who are signed in to the dashboard, and calls as its pages make them. */
import type { JsonObject } from "@bufbuild/protobuf";
import { newId } from "../../../src/runtime/ids.ts";
import { hashToken, newToken } from "../../../src/runtime/secrets.ts";
import type { TestGateway } from "../gateway.ts";

export interface SignedIn {
  readonly userId: string;
  readonly sessionId: string;
  readonly email: string;
  /** headers are what the pages send along with each call. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface SignInInit {
  readonly accountId?: string;
  readonly operator?: boolean;
  readonly email?: string;
}

/** Makes a user with a session, as if by signing in: of the gateway's account unless another is named. */
export async function signIn(
  gateway: Pick<TestGateway, "storage" | "accountId">,
  at: number,
  init: SignInInit = {},
): Promise<SignedIn> {
  const { storage } = gateway;
  const { accountId = gateway.accountId, operator = false } = init;
  const [userId, sessionId, token] = [newId("usr", at), newId("ses", at), newToken()];
  const email = init.email ?? `${userId}@example.com`;
  const user = { id: userId, account_id: accountId, email, password_hash: "none", is_operator: operator ? 1 : 0 };
  await storage.users.insert({ ...user, created_at: at });
  await storage.sessions.insert({
    ...{ id: sessionId, user_id: userId, token_hash: hashToken(token), address: "127.0.0.1", user_agent: "test" },
    ...{ created_at: at, last_seen_at: at, expires_at: at + 30 * 86_400_000 },
  });
  return { userId, sessionId, email, headers: { cookie: `gateway_session=${token}`, "x-gateway-session": "1" } };
}

export interface Told {
  readonly status: number;
  /** The answer or the error, as Connect's JSON. */
  readonly json: JsonObject;
  /** The Reason of a refusal, without its prefix. */
  readonly reason: string | undefined;
}

/** Asks an RPC by its name, as `KeyService.CreateKey`, over Connect with JSON. */
export async function askRpc(
  { rootUrl }: Pick<TestGateway, "rootUrl">,
  name: string,
  request: JsonObject,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Told> {
  const response = await fetch(`${rootUrl}/modelgateway.v1.${name.replace(".", "/")}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(request),
    ...(signal ? { signal } : {}),
  });
  const json = (await response.json()) as JsonObject;
  const [detail] = (json.details ?? []) as { debug?: { reason?: string } }[];
  return { status: response.status, json, reason: detail?.debug?.reason?.replace(/^REASON_/, "") };
}

export function bearer(secret: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${secret}` };
}
