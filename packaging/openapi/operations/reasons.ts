/** Says for which reasons an operation may be refused. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { access, Caller } from "../../../gen/modelgateway/v1/access_pb.ts";
import { operations } from "../../../src/call/operations.ts";
import { Reason } from "../../../src/call/refusals.ts";

/** Nature is what about an operation decides how it may be refused. */
export interface Nature {
  /** asksModel is whether a model answers it. */
  readonly asksModel: boolean;
  /** isCharged is whether what it makes is charged. */
  readonly isCharged: boolean;
  /** isRepeatable is whether it is safe to repeat under an idempotency key. */
  readonly isRepeatable: boolean;
  /** hasBody is whether it has a body. */
  readonly hasBody: boolean;
  /** hasMembers is whether it has parameters or members at all. */
  readonly hasMembers: boolean;
  /** hasRequired is whether a parameter or member is required, other than by the path. */
  readonly hasRequired: boolean;
  /** needsPrivilege is whether it needs a privilege. */
  readonly needsPrivilege: boolean;
  /** namesResource is whether it names a resource of the account: a key, be it the one by which a session calls a model. */
  readonly namesResource: boolean;
  /** namesResponse is whether it names a kept response. */
  readonly namesResponse: boolean;
  /** continues is whether it continues from a kept response. */
  readonly continues: boolean;
  /** namesModel is whether it names a model by the path. */
  readonly namesModel: boolean;
  /** mayClash is whether it clashes with what is there: too many keys, a response that still runs. */
  readonly mayClash: boolean;
}

/** Returns the nature of an operation by its first RPC. */
export function natureOf(method: DescMethod, httpMethod: string, required: readonly string[]): Nature {
  const fields = method.input.fields.map(({ name }) => name);
  const asksModel = Object.values(operations).some(({ input }) => input.typeName === method.input.typeName);
  const isCharged = asksModel && !method.name.startsWith("Count");
  const { caller } = getOption(method, access);
  const names = (what: RegExp) => what.test(method.name) && fields.includes("id");
  return {
    asksModel,
    isCharged,
    isRepeatable: isCharged || /^(?:Create|Rotate)Key$/.test(method.name),
    hasBody: httpMethod === "POST",
    hasMembers: fields.some((name) => name !== "extra"),
    hasRequired: required.length > 0,
    needsPrivilege: caller === Caller.ADMIN_KEY,
    namesResource: caller === Caller.KEY || names(/Key$/),
    namesResponse: names(/Response/) || (fields.includes("previous_response_id") && fields.includes("input_items")),
    continues: fields.includes("previous_response_id"),
    namesModel: names(/Model$/),
    mayClash: method.name === "CreateKey" || method.name === "DeleteResponse",
  };
}

const always = () => true;

const applies: Readonly<Partial<Record<Reason, (nature: Nature) => boolean>>> = {
  [Reason.MALFORMED_BODY]: ({ hasBody }) => hasBody,
  [Reason.INVALID_TYPE]: ({ hasMembers }) => hasMembers,
  [Reason.INVALID_VALUE]: ({ hasMembers }) => hasMembers,
  [Reason.MISSING_FIELD]: ({ hasRequired }) => hasRequired,
  [Reason.WOULD_BE_DROPPED]: ({ asksModel }) => asksModel,
  [Reason.PREVIOUS_RESPONSE_NOT_FOUND]: ({ continues }) => continues,
  [Reason.INVALID_API_KEY]: always,
  [Reason.SESSION_ENDED]: always,
  [Reason.INSUFFICIENT_CREDIT]: ({ isCharged }) => isCharged,
  [Reason.BUDGET_EXCEEDED]: ({ isCharged }) => isCharged,
  [Reason.PERMISSION_DENIED]: ({ needsPrivilege }) => needsPrivilege,
  [Reason.MODEL_NOT_PERMITTED]: ({ asksModel }) => asksModel,
  [Reason.MODEL_UNPRICED]: ({ isCharged }) => isCharged,
  [Reason.ACCOUNT_SUSPENDED]: always,
  [Reason.ADDRESS_NOT_PERMITTED]: always,
  [Reason.CROSS_SITE]: always,
  [Reason.MODEL_NOT_FOUND]: ({ asksModel, namesModel }) => asksModel || namesModel,
  [Reason.NOT_STORED]: ({ namesResponse }) => namesResponse,
  [Reason.RESOURCE_NOT_FOUND]: ({ namesResource }) => namesResource,
  [Reason.REQUEST_TIMEOUT]: ({ hasBody }) => hasBody,
  [Reason.IDEMPOTENCY_CONFLICT]: ({ isRepeatable }) => isRepeatable,
  [Reason.IDEMPOTENCY_RUNNING]: ({ isCharged }) => isCharged,
  [Reason.CONFLICT]: ({ mayClash }) => mayClash,
  [Reason.REQUEST_TOO_LARGE]: ({ hasBody }) => hasBody,
  [Reason.UNSUPPORTED_MEDIA_TYPE]: ({ hasBody }) => hasBody,
  [Reason.RATE_LIMITED]: always,
  [Reason.INTERNAL]: always,
  [Reason.UPSTREAM_FAILED]: ({ asksModel }) => asksModel,
  [Reason.UPSTREAM_BUSY]: ({ asksModel }) => asksModel,
  [Reason.GATEWAY_BUSY]: ({ hasBody }) => hasBody,
  [Reason.STORAGE_UNAVAILABLE]: always,
  [Reason.UPSTREAM_TIMEOUT]: ({ asksModel }) => asksModel,
  [Reason.NOT_CACHED]: ({ isCharged, continues }) => isCharged && !continues,
};

/** Returns the reasons for which an operation may be refused. */
export function reasonsFor(nature: Nature): ReadonlySet<Reason> {
  const reasons = Object.entries(applies).filter(([, test]) => test?.(nature));
  return new Set(reasons.map(([reason]) => Number(reason) as Reason));
}
