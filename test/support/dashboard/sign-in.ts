/**
 * Plays somebody who signs in, as the gateway sees it: a client that keeps the cookie it was given, and sends the dashboard's header.
 */
import { type Client, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AccountService } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { ErrorDetailSchema, ReasonSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { SessionService } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { addUser, type UserInit } from "../../../src/services/people/add-user.ts";
import type { TestGateway } from "../gateway.ts";
import { quickHash } from "./quick-hash.ts";

export interface Browser {
  readonly session: Client<typeof SessionService>;
  readonly account: Client<typeof AccountService>;
  /** The `set-cookie` headers that came, in their order. */
  readonly setCookies: readonly string[];
  /** cookie is what it sends as `cookie`; empty where it has none. */
  cookie: string;
}

/** Opens a browser without a cookie, which sends these headers besides. */
export function openBrowser({ rootUrl }: Pick<TestGateway, "rootUrl">, headers: Record<string, string> = {}): Browser {
  const setCookies: string[] = [];
  const keep = (answer: Headers) => {
    const written = answer.get("set-cookie");
    if (written === null) return;
    setCookies.push(written);
    browser.cookie = / Max-Age=0\b/.test(written) ? "" : (written.split(";", 1)[0] as string);
  };
  const asDashboard: Interceptor = (next) => async (request) => {
    request.header.set("x-gateway-session", "1");
    if (browser.cookie !== "") request.header.set("cookie", browser.cookie);
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    const answer = await next(request);
    keep(answer.header);
    return answer;
  };
  const transport = createConnectTransport({ baseUrl: rootUrl, httpVersion: "1.1", interceptors: [asDashboard] });
  const browser: Browser = {
    session: createClient(SessionService, transport),
    account: createClient(AccountService, transport),
    setCookies,
    cookie: "",
  };
  return browser;
}

/** Refused is what a call was refused with: the word of its reason, its status, and its words. */
export interface Refused {
  readonly reason: string | undefined;
  readonly status: number;
  readonly message: string;
  readonly retryAfter: string | null;
}

/** Resolves with the refusal of a call. Rejects where it was answered. */
export async function refusalOf(call: Promise<unknown>): Promise<Refused> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => ConnectError.from(thrown),
  );
  const [detail] = error?.findDetails(ErrorDetailSchema) ?? [];
  if (!error || !detail) throw new Error(`not refused: ${error?.message ?? "answered"}`);
  const reason = ReasonSchema.value[detail.reason]?.localName;
  const retryAfter = error.metadata.get("retry-after");
  return { reason, status: detail.httpStatus, message: error.rawMessage, retryAfter };
}

/** Returns the reasons of those that were refused; "done" stands for the others. */
export async function outcomes(calls: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(calls);
  return Promise.all(
    settled.map(async (one) =>
      one.status === "fulfilled" ? "done" : ((await refusalOf(Promise.reject(one.reason))).reason ?? ""),
    ),
  );
}

export const password = "correct horse battery";

/** Makes a user of the gateway's account, or of another. */
export async function makeUser(
  gateway: TestGateway,
  { email = "ann@example.com", ...init }: Partial<UserInit> = {},
): Promise<{ id: string; email: string }> {
  const passwordHash = quickHash(password);
  const { accountId } = gateway;
  const id = await addUser(gateway.storage, {
    email,
    passwordHash,
    accountId,
    operator: false,
    now: Date.now(),
    ...init,
  });
  return { id, email };
}

/** Opens a browser and signs in. */
export async function signedIn(
  gateway: TestGateway,
  email = "ann@example.com",
  headers: Record<string, string> = {},
): Promise<Browser> {
  const browser = openBrowser(gateway, headers);
  await browser.session.signIn({ email, password });
  return browser;
}

/** A clock that stands still until it is moved on. */
export function stoppedClock(start: number): { read: () => number; pass: (ms: number) => void } {
  let at = start;
  return {
    read: () => at,
    pass(ms) {
      at += ms;
    },
  };
}

export const minutes = 60_000;
export const days = 86_400_000;
