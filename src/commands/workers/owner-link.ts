/** Leads a worker to its owner: it connects, joins, and does so again where the owner has died or another takes its place. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createLink, type Link } from "../../runtime/ipc/link.ts";
import type { Joining, LinkQuestions } from "./contract.ts";

export interface OwnerLink {
  readonly link: Link;
  /** Goes on with the owner at a path. Resolves once it is connected with that, or with one that it was led to later. */
  lead(path: string): Promise<void>;
  /** Calls `listener` where its owner is gone, and it was not led to another. */
  onLost(listener: () => void): void;
}

/** retryMs is how long it waits before it tries again, in milliseconds. */
const retryMs = 50;

export function createOwnerLink(joining: Joining): OwnerLink {
  const link = createLink();
  let wanted = "";
  /** at is the path at which it is connected, or was last. */
  let at = "";
  let connecting: Promise<void> | undefined;
  let leading: Promise<void> = Promise.resolve();
  let isLed = false;

  async function connectAtLast(): Promise<void> {
    while (link.isClosed()) {
      const path = wanted;
      const socket = await open(path);
      if (socket && path === wanted) {
        at = path;
        link.connect(socket);
      } else {
        socket?.destroy();
        await delay(retryMs);
      }
    }
  }

  function reconnect(): Promise<void> {
    connecting ??= connectAtLast().finally(() => {
      connecting = undefined;
    });
    return connecting;
  }

  async function leadOnce(): Promise<void> {
    if (at === wanted && !link.isClosed()) return;
    isLed = true;
    await link.leave();
    isLed = false;
    await reconnect();
  }

  const join = () =>
    void link
      .by<LinkQuestions>()
      .ask("worker.join", joining)
      .then(undefined, () => {});
  // The first of all: an owner answers nothing else before.
  link.onConnect(join);
  link.onClose(() => void reconnect());
  return {
    link,
    onLost: (listener) =>
      link.onClose(() => {
        if (!isLed) listener();
      }),
    lead(path) {
      wanted = path;
      // One after another: the owner that it leaves has written what it was told before another goes on with that.
      leading = leading.then(leadOnce);
      return leading;
    },
  };
}

/** open resolves to undefined where nobody listens. */
function open(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", () => resolve(undefined));
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
  });
}
