/** The operator's views: calls, upstreams, limits, audit events. */
import type { DescService } from "@bufbuild/protobuf";
import {
  DescribeLimitsResponseSchema,
  GetAnyRequestResponseSchema,
  ListAllRefusedResponseSchema,
  ListAllRequestsResponseSchema,
  ListAuditResponseSchema,
  ListUpstreamsResponseSchema,
  type OperatorService,
  SummarizeAllRefusedResponseSchema,
  SummarizeAllRequestsResponseSchema,
} from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { RefusedFilter } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { invalidValue, resourceNotFound } from "../../call/refusals.ts";
import { accessOf } from "../../pipeline/admit/authorize.ts";
import type { AllFilter } from "../../storage/calls/requests-query.ts";
import type { CallerSignal } from "../../storage/calls/search.ts";
import { asked } from "../asked.ts";
import { defaultPageSize, type PageRequest, pageOf } from "../page.ts";
import { pageStart, writePageToken } from "../page-token.ts";
import { keyedFilter, keysTagged, labelsOfCalls } from "../usage/key-labels.ts";
import { listRefused, summarizeRefused } from "../usage/refused-message.ts";
import { callWithBill, requestMessage } from "../usage/request-message.ts";
import { summaryFilterOf, summaryLimits, summaryMessage } from "../usage/summary-message.ts";
import { requestFilterOf, span } from "../usage/time-span.ts";
import { whole } from "../whole.ts";
import { auditEventMessage } from "./audit-event-message.ts";
import { limitsMessage } from "./limits-message.ts";
import { findAccount } from "./operator-accounts.ts";
import type { OperatorParts } from "./parts.ts";
import { upstreamMessage } from "./upstream-message.ts";

type Rpcs = Pick<
  ServiceImplementation<typeof OperatorService>,
  | "listAllRequests"
  | "summarizeAllRequests"
  | "listAllRefused"
  | "summarizeAllRefused"
  | "getAnyRequest"
  | "listUpstreams"
  | "describeLimits"
  | "listAudit"
>;

export function operatorViews({ storage, settings, upstreams, services, clock }: OperatorParts): Rpcs {
  const { accounts, requests, refused, prices, keys } = storage;
  const pageOfAll = pageOfAllRequests(storage);
  const idOf = (account: string | undefined) => idOfAccount(accounts, account);
  return {
    async listAllRequests({ request, signal }) {
      const message = request.message();
      const accountId = await idOf(message.account);
      const keyIds = await keysTagged(keys, message.filter?.tag, accountId);
      const filter = { ...requestFilterOf(message.filter), keyIds };
      if (accountId === undefined)
        return whole(ListAllRequestsResponseSchema, await pageOfAll(message, filter, signal));
      const { items, next } = await pageOf(message, "req", (before, limit) =>
        requests.page({ ...filter, accountId }, before, limit, signal),
      );
      const labelsOf = await labelsOfCalls(keys, items);
      const messages = items.map((item) => requestMessage(item, labelsOf));
      return whole(ListAllRequestsResponseSchema, { requests: messages, ...next });
    },
    async summarizeAllRequests({ request, signal }) {
      const { account, summary } = request.message();
      const accountId = await idOf(account);
      const selected = { ...summaryFilterOf(summary, clock()), ...(accountId === undefined ? {} : { accountId }) };
      const filter = await keyedFilter(keys, summary, selected);
      const found = await requests.summarize(filter, summaryLimits, signal);
      return whole(SummarizeAllRequestsResponseSchema, { summary: summaryMessage(found, filter.groupBy) });
    },
    async listAllRefused({ request }) {
      const message = request.message();
      const accountId = await idOf(message.account);
      if (accountId === undefined) refuseWithoutAccount(message.filter);
      return whole(ListAllRefusedResponseSchema, await listRefused(refused, accountId, message));
    },
    async summarizeAllRefused({ request }) {
      const { account, summary } = request.message();
      const counted = await summarizeRefused(refused, await idOf(account), summary, clock());
      return whole(SummarizeAllRefusedResponseSchema, { summary: counted });
    },
    async getAnyRequest({ request }) {
      const { id = "" } = request.message();
      const found = await requests.findAny(id);
      if (!found) throw resourceNotFound("request", id);
      return whole(GetAnyRequestResponseSchema, await callWithBill(found, { prices, keys }));
    },
    async listUpstreams() {
      return whole(ListUpstreamsResponseSchema, { upstreams: upstreams().map(upstreamMessage) });
    },
    async describeLimits() {
      return whole(DescribeLimitsResponseSchema, limitsMessage(settings(), ratesOf(services)));
    },
    listAudit: createListAudit(storage),
  };
}

async function idOfAccount(accounts: OperatorParts["storage"]["accounts"], account: string | undefined) {
  return account ? (await findAccount(accounts, account)).id : undefined;
}

function createListAudit({ accounts, auditEvents, users }: OperatorParts["storage"]): Rpcs["listAudit"] {
  return async ({ request }) => {
    const message = request.message();
    const [accountId, action] = [await idOfAccount(accounts, message.account), asked(message.action)];
    const actor = await actorNamed(users, asked(message.actor));
    const filter = { accountId, action, actor, ...span(message.from, message.to) };
    const { items, next } = await pageOf(message, "act", (before, limit) =>
      auditEvents.page({ ...filter, before, limit }),
    );
    return whole(ListAuditResponseSchema, { acts: items.map(auditEventMessage), ...next });
  };
}

/** idless are the kinds of actors that have no ids. */
const idless = ["operator_key", "command_line", "nobody"];

/** actorNamed returns the actor of an id, an e-mail address or a kind. Throws a Refusal if there is none. */
async function actorNamed(users: OperatorParts["storage"]["users"], actor: string | undefined) {
  if (actor === undefined) return undefined;
  // Before the ids: an address may begin as one, and no id has an @.
  if (actor.includes("@")) {
    const user = await users.findByEmail(actor);
    if (!user) throw resourceNotFound("user", actor, "actor");
    return { kind: "user", id: user.id };
  }
  if (actor.startsWith("usr_")) return { kind: "user", id: actor };
  if (actor.startsWith("key_")) return { kind: "key", id: actor };
  if (actor === "user" || actor === "key") return { kind: actor };
  if (idless.includes(actor)) return { kind: actor, id: "" };
  throw invalidValue("actor", `expected an e-mail address, usr_…, key_…, user, key, ${idless.join(", ")}`);
}

/** pageOfAllRequests returns what lists calls of all accounts. A page may end where the search for a rare call paused. */
function pageOfAllRequests({ requests, keys }: Pick<OperatorParts["storage"], "requests" | "keys">) {
  return async ({ pageSize = defaultPageSize, pageToken }: PageRequest, filter: AllFilter, signal: CallerSignal) => {
    const { rows, readUntil } = await requests.pageOfAll(filter, pageStart(pageToken, "req"), pageSize + 1, signal);
    const shown = rows.slice(0, pageSize);
    const last = rows.length > shown.length ? shown.at(-1)?.id : readUntil;
    const next = last === undefined ? {} : { nextPageToken: writePageToken(last) };
    const labelsOf = await labelsOfCalls(keys, shown);
    return { requests: shown.map((call) => requestMessage(call, labelsOf)), ...next };
  };
}

/** refuseWithoutAccount refuses to filter the refused calls of all accounts by key or model: no index covers that. */
function refuseWithoutAccount(filter: RefusedFilter | undefined): void {
  const { keyId: key_id, model } = filter ?? {};
  for (const [name, value] of Object.entries({ key_id, model })) {
    if (asked(value) !== undefined)
      throw invalidValue(`filter.${name}`, "it is looked for within an account; name `account` too");
  }
}

/** ratesOf returns the RPCs with a rate limit of their own. */
function ratesOf(services: readonly DescService[]) {
  return services.flatMap((service) =>
    service.methods.flatMap((method) => {
      const { perSecond } = accessOf(method);
      return perSecond > 0 ? [{ rpc: `${service.name}.${method.name}`, perSecond }] : [];
    }),
  );
}
