/**
 * The way of a model call once its caller is known and its request is sound: route, translate where the upstream
 * speaks another family, reserve what it may cost, send, settle what it cost, and translate back. What an upstream does
 * one by one is asked of it one by one; it is one call all the same, reserved and settled once.
 *
 * An upstream that fails before its first content is replaced by another, or tried again (`send.ts`); which one answered, and
 * how many were asked, is told in `x-gateway-upstream` and `x-gateway-attempts`.
 *
 * What a translation leaves out is named in the answer header `x-gateway-dropped`, and what a gateway behind this one
 * leaves out with it. A caller who sends `x-gateway-strict: true` is refused instead, before anything is sent.
 */
import type { Answer, AnswerHeaders, Call } from "../call.ts";
import { type Catalog, type Model, mayRelay, type Target } from "../catalog.ts";
import { internal, modelNotFound, wouldBeDropped } from "../errors.ts";
import { translateAlong, wayTo } from "../families/index.ts";
import type { Translation } from "../families/translation.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type Form, type Input, type Operation, type Output, operations } from "../providers/operations.ts";
import type { Provider, Speak } from "../providers/provider.ts";
import type { Targets } from "../targets/targets.ts";
import { estimatePromptTokens } from "../tokens/prompt.ts";
import { authorizeModel } from "./authorize.ts";
import { countInput } from "./count-input.ts";
import { eachPrompt, partsOf } from "./each-prompt.ts";
import { holdHead } from "./hold-head.ts";
import { createMeter } from "./meter.ts";
import { createReservation } from "./reserve.ts";
import { route } from "./route.ts";
import type { Send, Tried } from "./send.ts";
import type { Settle } from "./settle.ts";

export interface CompleteOptions {
  readonly catalog: Catalog;
  /** By the upstream's name. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly targets: Targets;
  readonly send: Send;
  readonly ledger: Ledger;
  readonly settle: Settle;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** Answers an operation, in the form that is asked for. */
export type Complete = <O extends Operation, F extends Form>(
  asked: O,
  form: F,
  call: Call<Input<O>>,
) => Promise<Answer<Output<O, F>>>;

export function createComplete(options: CompleteOptions): Complete {
  const { catalog, providers, targets, send, ledger, settle, clock, random } = options;
  return async <O extends Operation, F extends Form>(asked: O, form: F, call: Call<Input<O>>) => {
    const { id, header } = call;
    const arrivedAt = clock();
    const model = catalog.find(call.request.message().model ?? "", operations[asked].kind);
    authorizeModel(call.caller, model);
    const leads = leadsTo(asked, model, route(model, random, targets), providers);
    const [first] = leads;
    if (!first) throw modelNotFound(model.id);
    const meter = createMeter(partsOf(first.way, call), countInput);
    const reservation = createReservation(ledger, { call, asked, model, arrivedAt });
    const tried: Tried[] = [];
    let reached = first.target;
    const askAt = async ({ target, way, operation, speak }: Lead, { request: part, signal }: Call<Input<O>>) => {
      const translated = translateAlong(way, part, {
        form,
        maxOutputTokens: model.maxOutputTokens,
        answerId: id.replace(/^req_/, ""),
        now: Math.floor(arrivedAt / 1000),
        estimateTokens: estimatePromptTokens,
      });
      const { dropped } = translated;
      if (dropped.length > 0 && isStrict(header("x-gateway-strict"))) throw wouldBeDropped(dropped);
      const request = await reservation.bound(operation, translated.request);
      reached = target;
      const attempted = meter.attempt(operation, request);
      try {
        const spoken = await speak({
          id,
          operation,
          form,
          request,
          model: target.model,
          header,
          signal,
          meter: attempted,
        });
        // What cannot be tried again need not wait.
        const answer = send.attempts > 1 ? await holdHead(spoken, attempted.hasContent) : spoken;
        const headers = droppedHeaders(dropped, answer.headers?.["x-gateway-dropped"]);
        return { ...translated.answer(answer), headers } as Answer<Output<O, F>>;
      } catch (error) {
        attempted.drop();
        throw error;
      }
    };
    const ask = async (part: Call<Input<O>>) => {
      const askPart = async (lead: Lead) => ({ answer: await askAt(lead, part), upstream: lead.target.upstream });
      const { answer, upstream } = await send.send(leads, part.signal, askPart, (failed) => tried.push(failed));
      const told = { "x-gateway-upstream": upstream, "x-gateway-attempts": String(tried.length + 1) };
      return { ...answer, headers: { ...answer.headers, ...told } };
    };
    const running = {
      ...{ call, asked, model, meter, arrivedAt, tried },
      target: () => reached,
      isReserved: reservation.isMade,
    };
    return settle(running, () => eachPrompt(first.way, form, call, ask));
  };
}

/** A target, and the way to what its upstream speaks. */
interface Lead {
  readonly target: Target;
  readonly way: readonly Translation[];
  readonly operation: Operation;
  readonly speak: Speak<Operation>;
}

/** Leaves out targets that cannot be asked, and those that would have to be asked in another number of requests. */
function leadsTo(
  asked: Operation,
  model: Model,
  order: readonly Target[],
  providers: CompleteOptions["providers"],
): readonly Lead[] {
  const leads = order.flatMap((target): readonly Lead[] => {
    const { speaks } = providerOf(target, providers);
    const way = wayTo(asked, (operation) => speaks[operation] !== undefined && mayRelay(model, operation));
    const operation = way?.at(-1)?.to ?? asked;
    return way ? [{ target, way, operation, speak: speaks[operation] as Speak<Operation> }] : [];
  });
  return leads.filter(({ way }) => way[0]?.from === leads[0]?.way[0]?.from);
}

function providerOf({ upstream }: Target, providers: CompleteOptions["providers"]): Provider {
  const provider = providers.get(upstream);
  if (!provider) throw internal(new Error(`no provider for the upstream ${upstream}`));
  return provider;
}

/** The longest value of the header, in characters: some proxies refuse longer heads. */
const longestHeader = 2048;

function isStrict(header: string | undefined): boolean {
  return header?.trim().toLowerCase() === "true";
}

/** Names what was left out on the way to the upstream, and then what the upstream, another gateway, left out itself. */
function droppedHeaders(dropped: readonly string[], further = ""): AnswerHeaders {
  const inner = further.split(",").map((path) => path.trim());
  const paths = new Set([...dropped, ...inner].filter((path) => path !== ""));
  if (paths.size === 0) return {};
  // A path holds the caller's own keys, which may be any text.
  const value = [...paths].map((path) => path.replace(/[^\x21-\x2b\x2d-\x7e]/g, "?")).join(", ");
  return { "x-gateway-dropped": value.length > longestHeader ? `${value.slice(0, longestHeader)}...` : value };
}
