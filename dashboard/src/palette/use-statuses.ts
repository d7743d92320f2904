/**
 * The status of an answer, such as 402 or 429, as items: each leads to the log of the calls that got it. Calls that were refused are listed
 * by their reason, those that a model was asked for by their outcome.
 */
import { IconBan, IconListDetails } from "@tabler/icons-react";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { texts, useTexts } from "../language/language.tsx";
import { type OutcomeWord, useOutcomeNames } from "../parts/outcome.tsx";
import { useReasonNames } from "../parts/refusal-reasons.ts";
import type { RequestSearch } from "../search.ts";
import type { Item } from "./item.ts";

const said = texts(
  {
    refused: (reason: string) => `Refused: ${reason}`,
    ended: (outcome: string) => `Requests: ${outcome}`,
    about: (status: string) => `The calls that got status ${status}`,
  },
  {
    refused: (reason: string) => `被拒绝：${reason}`,
    ended: (outcome: string) => `请求：${outcome}`,
    about: (status: string) => `状态码为 ${status} 的请求`,
  },
);

/** reasonsOf has the reasons of refused calls, by their status. */
const reasonsOf: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    400: [
      ...["INVALID_VALUE", "INVALID_TYPE", "MISSING_FIELD", "MALFORMED_BODY"],
      ...["WOULD_BE_DROPPED", "PREVIOUS_RESPONSE_NOT_FOUND"],
    ],
    401: ["INVALID_API_KEY"],
    402: ["INSUFFICIENT_CREDIT", "BUDGET_EXCEEDED"],
    403: ["MODEL_NOT_PERMITTED", "ADDRESS_NOT_PERMITTED", "MODEL_UNPRICED", "PERMISSION_DENIED", "ACCOUNT_SUSPENDED"],
    404: ["MODEL_NOT_FOUND"],
    408: ["REQUEST_TIMEOUT"],
    409: ["IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_RUNNING"],
    413: ["REQUEST_TOO_LARGE"],
    415: ["UNSUPPORTED_MEDIA_TYPE"],
    429: ["RATE_LIMITED"],
    500: ["INTERNAL"],
    503: ["UPSTREAM_BUSY", "GATEWAY_BUSY", "STORAGE_UNAVAILABLE"],
    504: ["NOT_CACHED"],
  }),
);

/** outcomesOf has the outcomes of other calls, by their status. */
const outcomesOf: ReadonlyMap<string, readonly OutcomeWord[]> = new Map(
  Object.entries<readonly OutcomeWord[]>({
    200: ["answered"],
    400: ["rejected"],
    499: ["left"],
    502: ["failed", "broken"],
    504: ["failed"],
  }),
);

/** useStatusItems returns what a query that is a status finds; nothing for other queries. */
export function useStatusItems(query: string): readonly Item[] {
  const t = useTexts(said);
  const navigate = useNavigate();
  const isOperating = useLocation().pathname.startsWith("/operator");
  const nameOf = useReasonNames();
  const outcomeNames = useOutcomeNames();
  const item = (name: string, icon: Item["icon"], search: RequestSearch): Item => ({
    ...{ id: `status ${name}`, names: [name], marks: [query], about: t.about(query), icon },
    run: () => void (isOperating ? navigate({ to: "/operator/requests", search }) : navigate({ to: "/usage", search })),
  });
  const refused = (reasonsOf.get(query) ?? []).map((reason) =>
    item(t.refused(nameOf(reason)), IconBan, { view: "refused", reason }),
  );
  const ended = (outcomesOf.get(query) ?? []).map((outcome) =>
    item(t.ended(outcomeNames[outcome]), IconListDetails, { outcome }),
  );
  return [...refused, ...ended];
}
