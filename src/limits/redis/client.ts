/**
 * The client of one server, or of a cluster. It does not connect again by itself: its owner does, who measures the outage. Importing this
 * file loads the client library.
 */
import { createClient, createCluster } from "@redis/client";

export interface ClientOptions {
  /** redis:// or rediss://, with user, password and number of the database where there are any. */
  readonly url: string;
  /** isCluster is whether the address is that of a cluster's node: keys are asked for where they are, and there is one database. */
  readonly isCluster: boolean;
  readonly connectMs: number;
}

export interface Client {
  connect(): Promise<unknown>;
  /** Sends a command to where its key is. Commands of one turn of the event loop go out together. */
  send(key: string, command: readonly string[]): Promise<unknown>;
  /** Closes it at once. What is not answered rejects. */
  close(): void;
}

/** openClient opens a client of Redis. `onError` is called when a connection fails or is lost. */
export function openClient(options: ClientOptions, onError: (error: unknown) => void): Client {
  return options.isCluster ? openCluster(options, onError) : openServer(options, onError);
}

/** Nothing is sent that a restricted user would need a right for. */
const plain = {
  ...({ disableOfflineQueue: true, maintNotifications: "disabled", disableClientInfo: true } as const),
  // The caller bounds the time of all that it asks at once.
  commandOptions: { timeout: 0 },
};

function openServer({ url, connectMs }: ClientOptions, onError: (error: unknown) => void): Client {
  const socket = { connectTimeout: connectMs, reconnectStrategy: false } as const;
  const client = createClient({ url, socket, ...plain });
  client.on("error", onError);
  return {
    connect: () => client.connect(),
    send: (_, command) => client.sendCommand(command),
    close: () => destroy(client),
  };
}

function openCluster({ url, connectMs }: ClientOptions, onError: (error: unknown) => void): Client {
  const { protocol, username, password } = new URL(url);
  const socket = { connectTimeout: connectMs, reconnectStrategy: false, tls: protocol === "rediss:" } as const;
  const credentials = {
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
  };
  // The nodes that are found have what `defaults` say, and nothing of the URL.
  const cluster = createCluster({
    rootNodes: [{ url, socket, ...plain }],
    defaults: { socket, ...credentials, ...plain },
  });
  cluster.on("error", onError);
  cluster.on("node-error", onError);
  return {
    connect: () => cluster.connect(),
    send: (key, command) => cluster.sendCommand(key, false, [...command]),
    close: () => destroy(cluster),
  };
}

function destroy(client: { destroy(): void }): void {
  try {
    client.destroy();
  } catch {
    // It is closed already.
  }
}
