/**
 * A link is a channel that outlives the process at its other end: another process may take that one's place, over another stream. What
 * is answered is answered to each of them; what was asked of one that is gone is refused with a ClosedError, and is the asker's to ask anew.
 */
import type { Duplex } from "node:stream";
import { Deferred } from "../maybe-promise.ts";
import { type Answers, type Asking, type Channel, ClosedError, createChannel, type Questions } from "./channel.ts";
import { createHearing, type Hearing } from "./hearing.ts";

export interface Link extends Pick<Channel, "by" | "answer" | "isClosed"> {
  /** Whether the other side stands still. */
  readonly hearing: Hearing;
  /** Goes on over a stream. The one before it is closed. */
  connect(stream: Duplex): void;
  /** Calls `listener` whenever it is connected, in the order in which listeners were added. Returns what ends that. */
  onConnect(listener: () => void): () => void;
  /** Calls `listener` whenever the other side is gone. */
  onClose(listener: () => void): void;
  /** Has `listener` take leave of the other side while that lives, before another takes its place. */
  onLeave(listener: () => Promise<void>): void;
  /** Takes leave of the other side, and closes. Resolves at once where it is closed. */
  leave(): Promise<void>;
  /** Resolves when it is connected. Rejects with a ClosedError after `maxMs` milliseconds. */
  whenConnected(maxMs: number): Promise<void>;
}

interface State {
  channel: Channel | undefined;
  readonly answers: Map<string, Answers<Questions>[string]>;
  readonly connected: Set<() => void>;
  readonly closed: Set<() => void>;
  readonly leaving: Set<() => Promise<void>>;
}

export function createLink(): Link {
  const state: State = {
    ...{ channel: undefined, answers: new Map() },
    ...{ connected: new Set(), closed: new Set(), leaving: new Set() },
  };
  const isClosed = () => state.channel?.isClosed() ?? true;
  const asking: Asking<Questions> = {
    ask(name, body) {
      if (state.channel) return state.channel.by<Questions>().ask(name, body);
      const refused = new Deferred<unknown>();
      refused.reject(new ClosedError());
      return refused;
    },
    tell: (name, body) => state.channel?.by<Questions>().tell(name, body),
  };
  return {
    isClosed,
    // An error is an answer, too: nobody need answer it.
    hearing: createHearing(
      () => !isClosed(),
      () => asking.ask("link.ping", null),
    ),
    by: <Q extends Questions>() => asking as Asking<Q>,
    answer(answers) {
      for (const [name, answer] of Object.entries(answers)) state.answers.set(name, answer as never);
      state.channel?.answer(answers);
    },
    connect: (stream) => connect(state, stream),
    onConnect(listener) {
      state.connected.add(listener);
      return () => void state.connected.delete(listener);
    },
    onClose: (listener) => void state.closed.add(listener),
    onLeave: (listener) => void state.leaving.add(listener),
    async leave() {
      const { channel } = state;
      if (!channel || channel.isClosed()) return;
      await Promise.allSettled([...state.leaving].map((leave) => leave()));
      channel.close();
      await channel.closed;
    },
    whenConnected(maxMs) {
      if (!isClosed()) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => over(() => reject(new ClosedError())), maxMs);
        const onConnected = () => over(resolve);
        const over = (then: () => void) => {
          clearTimeout(late);
          state.connected.delete(onConnected);
          then();
        };
        state.connected.add(onConnected);
      });
    },
  };
}

function connect(state: State, stream: Duplex): void {
  const before = state.channel;
  const channel = createChannel(stream);
  state.channel = channel;
  before?.close();
  channel.answer(Object.fromEntries(state.answers) as Answers<Questions>);
  void channel.closed.then(() => {
    if (state.channel !== channel) return;
    for (const listener of [...state.closed]) listener();
  });
  for (const listener of [...state.connected]) listener();
}
