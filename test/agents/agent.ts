/** What the agents' test knows of an agent: how it is pointed at the gateway, and how it is driven without a window. */

/** Where an agent runs, and what it is pointed at. */
export interface Place {
  /** The gateway's address, without a path. */
  readonly rootUrl: string;
  readonly apiKey: string;
  readonly model: string;
  /** How our MCP server is started. */
  readonly mcp: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
}

/** What its user sets: docs/clients.md shows it as it is. */
export interface Setup {
  readonly env: Readonly<Record<string, string>>;
  /** Files by their path below the home folder. */
  readonly files: Readonly<Record<string, string>>;
}

/** One run of the agent. */
export interface Errand {
  readonly prompt: string;
  /** Whether it goes on with the last session. */
  readonly resume: boolean;
  /** The path of an image that is given along with the prompt. */
  readonly image?: string;
  /** The name by which the agent asks for a model. */
  readonly model: string;
}

export const sceneNames = ["hi", "tool", "mcp", "resume", "image", "compaction"] as const;
export type SceneName = (typeof sceneNames)[number];

export interface Agent {
  /** By which `--agent` names it. */
  readonly name: string;
  readonly title: string;
  /** What npm knows it by, or PyPI, in the version that is tried. */
  readonly package: string;
  readonly version: string;
  /** What pip installs, each with its version; undefined where it is npm's. */
  readonly python?: readonly string[];
  /** The file that is run, below the folder of its installation. One of ours, a program with a library, is copied there from `clients/`. */
  readonly bin: string;
  /** What a file that the model tells it to write ends with. Default: nothing, as the shell writes it. */
  readonly fileEnd?: string;
  /** The gateway's API that it speaks. */
  readonly speaks: string;
  /** The name by which it asks for a model; undefined where that is the upstream's own. */
  readonly model?: string;
  setup(place: Place): Setup;
  /** What keeps it from talking to anybody else. */
  readonly quiet: Readonly<Record<string, string>>;
  /** The arguments of a run. */
  run(errand: Errand): readonly string[];
  /** The prompt by which it sums the session up; without one it is led to do so by a full context. */
  readonly compact?: string;
  /** How many tokens the model tells of when its context is full, where the agent sends too little for the usual number to be believed. */
  readonly fullAt?: number;
  /** Within how many milliseconds of its start its first request must arrive; undefined where nothing is said of it. */
  readonly startsWithinMs?: number;
  /** What its user should know besides, for docs/clients.md. */
  readonly notes: string;
  /** Why a scene cannot be played, in words for the table. */
  readonly lacks: Partial<Record<SceneName, string>>;
}
