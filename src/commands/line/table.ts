/**
 * The table of commands: their arguments and options, said once. Parsing (`read-options.ts`), help (`help.ts`) and the completion of
 * shells (`completion.ts`) follow from it. It imports nothing, so that help costs no start of anything else.
 */

/** Completes tells a shell which values to offer: files, folders, or these words. It offers none where this is unset. */
export type Completes = "file" | "folder" | readonly string[];

export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly multiple?: true;
  /** isNeeded is whether the command does nothing without it. */
  readonly isNeeded?: true;
  /** The word for its value in help. */
  readonly value?: string;
  /** example is what a value is like, for who gave something that looks like an option instead. */
  readonly example?: string;
  readonly summary: string;
  readonly completes?: Completes;
}

export interface ArgumentSpec {
  /** The word for it in help and in messages. */
  readonly name: string;
  readonly isOptional?: true;
  /** isShownNeeded is whether help shows it as needed, though some options do without it: the command itself looks. */
  readonly isShownNeeded?: true;
  readonly completes?: Completes;
}

export interface CommandSpec {
  /** One line that fits beside the name. */
  readonly summary: string;
  /** More lines for its own help. */
  readonly details?: string;
  readonly arguments?: readonly ArgumentSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
}

const config = {
  config: { type: "string", value: "FILE", summary: "the configuration file", completes: "file" },
} as const;
const account = { type: "string", value: "ACCOUNT", summary: "the account's id or name" } as const;
const amount = { type: "string", value: "AMOUNT", summary: "in units, as 12.50", isNeeded: true } as const;
const expires = { type: "string", value: "TIME", summary: "when it expires, as 2030-01-31T12:00:00Z" } as const;
const note = { type: "string", value: "TEXT", summary: "a note, at most 500 characters" } as const;
const accountArgument = [{ name: "ACCOUNT" }] as const;
const keyArgument = [{ name: "KEY_ID" }] as const;
const budget = {
  type: "string",
  multiple: true,
  value: "AMOUNT/PERIOD",
  example: "10/day or 10/rolling-day",
  summary: "a budget, as 10/day or 10/rolling-day; repeatable",
} as const;
const keyLimits = {
  budget,
  rpm: { type: "string", value: "N", summary: "the most requests a minute" },
  tpm: { type: "string", value: "N", summary: "the most tokens a minute" },
  "model-rate": {
    type: "string",
    multiple: true,
    value: "MODEL=RPM,TPM",
    summary: "its rate of a model or family:NAME; repeatable",
  },
  "max-concurrent": { type: "string", value: "N", summary: "the most calls of models at a time" },
  "allow-ip": {
    type: "string",
    multiple: true,
    value: "ADDRESS",
    summary: "an address or network to allow; repeatable",
  },
  tag: { type: "string", multiple: true, value: "TAG", summary: "a tag, by which usage is summed; repeatable" },
  owner: { type: "string", value: "NAME", summary: "whose key it is" },
} as const;
const labelFilter = {
  tag: { type: "string", value: "TAG", summary: "those with a tag" },
  owner: { type: "string", value: "NAME", summary: "those of an owner" },
} as const;
/** once is for what prints a secret: a repetition after a command that was killed finds that it was created, and creates no second one. */
const once = {
  "idempotency-key": { type: "string", value: "KEY", summary: "repeating it within a day creates nothing again" },
} as const;
const addressArgument = [{ name: "ADDRESS" }] as const;
const movement = {
  ...config,
  account: { ...account, isNeeded: true },
  amount,
  note,
  "idempotency-key": { type: "string", value: "KEY", summary: "repeating it within a day records nothing again" },
} as const;

const strict = { type: "boolean", summary: "exit code 1 if anything is not as it was" } as const;
const imported = {
  out: { type: "string", value: "FILE", summary: "where to write it; never over another file", completes: "file" },
  strict,
} as const;

const versionNote = {
  type: "string",
  value: "TEXT",
  summary: "what the change is for, at most 500 characters",
} as const;
const dryRun = { type: "boolean", summary: "only show what would differ" } as const;

export const shells = ["bash", "zsh", "fish", "powershell"] as const;
/** topics are the topics of help beside commands. */
export const topics = ["configuration", "exit-codes"] as const;

/** groups are the summaries of the commands that share a first word, by that word. */
export const groups: ReadonlyMap<string, string> = new Map(
  Object.entries({
    accounts: "create, update, list, suspend and reinstate accounts",
    keys: "create, change, list, disable, enable and revoke API keys",
    users: "list and invite users of the dashboard; passwords, operators",
    codes: "create, list and revoke redeem codes",
    config: "the stored configuration and its versions; tests of upstreams",
    models: "the catalogue of models and their prices",
    import: "take over what another gateway has",
  }),
);

export const commandTable = {
  serve: {
    summary: "run the gateway until Ctrl-C; the default",
    details: `Serves until SIGTERM or SIGINT: then it accepts no more connections, and lets
calls finish for drain_seconds. A second signal ends it at once. SIGHUP has
the configuration read again, and ends it where its terminal was closed.

With --workers several processes serve on its port. SIGHUP then replaces them
one by one, also by a new version of the program, without a refused call.

HOST, PORT and DATA_DIR in the environment set its address and its folder:
\`model-gateway help configuration\` has more.`,
    options: {
      ...config,
      workers: {
        type: "string",
        value: "N",
        summary: "how many processes serve; auto is one a core",
        completes: ["auto"],
      },
    },
  },
  demo: {
    summary: "the same, with an account, keys and a first call to play with",
    options: {
      ...config,
      furnished: { type: "boolean", summary: "with a month of calls by thirty keys at three vendors" },
    },
  },
  "accounts create": {
    summary: "create an account; prints its id",
    options: {
      ...config,
      name: { type: "string", value: "NAME", summary: "its name", isNeeded: true },
      postpaid: { type: "boolean", summary: "it pays afterwards" },
      grant: { type: "string", value: "AMOUNT", summary: "with initial credit" },
    },
  },
  "accounts update": {
    summary: "set the operator's budgets of an account, and its time zone",
    details: `What no option names stays as it is. --budget= removes the operator's
budgets; those that the account has set itself stay.`,
    arguments: accountArgument,
    options: {
      ...config,
      budget,
      "time-zone": { type: "string", value: "ZONE", summary: "in which days begin, as Asia/Tokyo; UTC if empty" },
    },
  },
  "accounts list": { summary: "list accounts with tier, balance and budgets", options: config },
  "accounts suspend": {
    summary: "refuse its calls, and sign its users out",
    arguments: accountArgument,
    options: config,
  },
  "accounts reinstate": { summary: "undo that", arguments: accountArgument, options: config },
  "keys create": {
    summary: "create an API key; prints its secret, only once",
    options: {
      ...config,
      account: { ...account, isNeeded: true },
      name: { type: "string", value: "NAME", summary: "its name", isNeeded: true },
      "credit-limit": { type: "string", value: "AMOUNT", summary: "the most that it may spend in its life" },
      model: {
        type: "string",
        multiple: true,
        value: "MODEL",
        summary: "a model or family:NAME it may use; repeatable",
      },
      expires,
      ...keyLimits,
      ...once,
    },
  },
  "keys update": {
    summary: "change what a key may do, its tags and owner",
    details: `What no option names stays as it is. An empty value removes a limit or all
entries of a list, as --rpm= or --tag=.`,
    arguments: keyArgument,
    options: { ...config, ...keyLimits },
  },
  "keys list": { summary: "list keys, including revoked ones", options: { ...config, account, ...labelFilter } },
  "keys disable": { summary: "disable a key, until it is enabled", arguments: keyArgument, options: config },
  "keys enable": { summary: "enable it again", arguments: keyArgument, options: config },
  "keys revoke": { summary: "revoke a key for good", arguments: keyArgument, options: config },
  "users list": { summary: "list the users of the dashboard", options: config },
  "users invite": {
    summary: "create a link to register; prints it, only once",
    options: {
      ...config,
      account: { ...account, summary: "register for this account; default: one of their own" },
      email: { type: "string", value: "ADDRESS", summary: "for this address only" },
    },
  },
  "users reset-password": {
    summary: "create a link to set a new password; prints it once",
    arguments: addressArgument,
    options: config,
  },
  "users no-second-factor": {
    summary: "remove a user's lost second factor",
    arguments: addressArgument,
    options: config,
  },
  "users operator": { summary: "let a user operate the gateway", arguments: addressArgument, options: config },
  "users no-operator": { summary: "undo that", arguments: addressArgument, options: config },
  "users set-up": {
    summary: "create a new link for the first user",
    details: "It replaces the one that `serve` has printed.",
    options: config,
  },
  recharge: { summary: "record a payment; counts towards the tier", options: movement },
  refund: { summary: "record a refund of what was recharged and is left", options: movement },
  grant: { summary: "grant credit; does not count towards the tier", options: movement },
  "codes create": {
    summary: "create redeem codes; prints them, only once",
    options: {
      ...config,
      amount,
      count: { type: "string", value: "N", summary: "how many, at most 1000; default 1" },
      expires,
      note,
      ...once,
    },
  },
  "codes list": {
    summary: "list codes, including claimed ones",
    options: { ...config, batch: { type: "string", value: "BATCH_ID", summary: "those of one batch" } },
  },
  "codes revoke": {
    summary: "revoke the unclaimed codes of a batch",
    arguments: [{ name: "BATCH_ID" }],
    options: config,
  },
  "config export": {
    summary: "print the stored configuration as YAML",
    details: `It has the shape of gateway.yaml, and the keys that may change while the gateway
serves. Credentials are masks, which \`config apply\` takes for the stored ones;
--with-secrets writes them into a new file for its owner only. Without VERSION
it is the one in force.`,
    arguments: [{ name: "VERSION", isOptional: true }],
    options: {
      ...config,
      file: { type: "string", value: "FILE", summary: "write it there; never over another file", completes: "file" },
      "with-secrets": { type: "boolean", summary: "with credentials, into --file" },
    },
  },
  "config apply": {
    summary: "store the configuration of a file; shows what differs",
    details: `FILE is YAML of gateway.yaml's shape without the keys that are bound to the
process; \`-\` is standard input. It takes the place of what is stored, as a new
version, which every node serves within a second. \${NAME} is replaced from the
environment of this command. What gateway.yaml has too is served as it has it.
What \`config export\` wrote, and its first line says so, is refused where it
would undo what was stored since.`,
    arguments: [{ name: "FILE", completes: "file" }],
    options: {
      ...config,
      "dry-run": dryRun,
      note: versionNote,
      overwrite: { type: "boolean", summary: "also what was stored since FILE was exported" },
    },
  },
  "config versions": { summary: "list the versions, newest first", options: config },
  "config compare": {
    summary: "show in what two versions differ",
    arguments: [{ name: "VERSION" }, { name: "VERSION", isOptional: true }],
    options: config,
  },
  "config test-upstream": {
    summary: "ask an upstream for its models, and make a small call",
    details: `Prints what came of each step; exit code 1 where one failed. It goes from this
machine with the credentials of NAME as it is configured, the file's variables
included. No account pays; the upstream may charge for the call.`,
    arguments: [{ name: "NAME" }],
    options: {
      ...config,
      model: { type: "string", value: "MODEL", summary: "the model to call, by its name there" },
      "list-only": { type: "boolean", summary: "make no call" },
    },
  },
  "config rollback": {
    summary: "store an earlier version anew; shows what differs",
    arguments: [{ name: "VERSION" }],
    options: { ...config, "dry-run": dryRun, note: versionNote },
  },
  "models sync": {
    summary: "update models and prices from a file or an address",
    details: `SOURCE is a file or an https address with a catalogue as catalog/models.yaml, or
LiteLLM's model_prices_and_context_window.json; prices are in US dollars. Models
of vendors that are upstreams here are compared with those that are served, and
what differs is shown. --apply stores it.`,
    arguments: [{ name: "SOURCE", completes: "file" }],
    options: {
      ...config,
      apply: { type: "boolean", summary: "store what differs, as a new version" },
      vendor: { type: "string", multiple: true, value: "NAME", summary: "of this vendor only; repeatable" },
      note: versionNote,
    },
  },
  "import litellm": {
    summary: "make a gateway.yaml of a LiteLLM proxy's config.yaml",
    details: `The file goes to standard output. What was left out or changed goes to standard
error and into the file's comments, with the line of the source. No secret is
written: each becomes a reference to the environment.`,
    arguments: [{ name: "CONFIG", completes: "file" }],
    options: imported,
  },
  "import litellm-keys": {
    summary: "take the virtual keys of a LiteLLM proxy over",
    details: `FILE is the answer of GET /key/list?return_full_object=true. The secrets go on
working as they are, and are not in it. Keys that are here already are left
alone.`,
    arguments: [{ name: "FILE", completes: "file" }],
    options: {
      ...config,
      account: { ...account, summary: "whose keys they become", isNeeded: true },
      team: { type: "string", value: "TEAM_ID", summary: "those of a team only" },
      strict,
    },
  },
  "import new-api": {
    summary: "make a gateway.yaml of new-api's channels",
    details: `CHANNELS is the answer of GET /api/channel/, the file of --prices that of
GET /api/pricing.`,
    arguments: [{ name: "CHANNELS", completes: "file" }],
    options: {
      ...imported,
      prices: { type: "string", value: "FILE", summary: "the prices of its models", completes: "file" },
    },
  },
  reconcile: {
    summary: "prove all sums of money; exit code 1 on any finding",
    details: `Each finding is printed with what it means and what to do about it. It also
reports charges that are in the journal only, lines that are broken, and what no
sequence of calls leads to, such as a prepaid account below 0.

Calls that were proved before are not read again: the sums of their hours stand
for them, and are compared with what they were. Run it each night, and with
--full now and then.`,
    options: {
      ...config,
      full: { type: "boolean", summary: "read all calls that are kept" },
      repair: { type: "boolean", summary: "set sums that alone are wrong to what follows; audited" },
      json: { type: "boolean", summary: "print one JSON object; money in millionths" },
    },
  },
  backup: {
    summary: "write one consistent file of all data, also while serving",
    details: `FILE is a database of SQLite with everything in it, the journal too; \`-\` is
standard output. It is written beside FILE and renamed when it is whole, for its
owner only. The configuration file is not in it.`,
    arguments: [{ name: "FILE", completes: "file" }],
    options: { ...config, force: { type: "boolean", summary: "replace FILE where it exists" } },
  },
  restore: {
    summary: "make a data folder of such a file",
    details: `FILE is what \`backup\` wrote; \`-\` is standard input. A file that is damaged, or
of a newer version, is refused, and so is a folder that has a database. All sums
are proved; exit code 1 where one is wrong.`,
    arguments: [{ name: "FILE", completes: "file" }],
    options: {
      ...config,
      force: { type: "boolean", summary: "move the database that is there aside, and keep it" },
    },
  },
  "migrate-to": {
    summary: "move all data from SQLite to Postgres, or back",
    details: `TARGET is postgres://user:password@host/database, or the path of a file of
SQLite, as /data/gateway.db; \`-\` reads either from standard input, so that no
list of processes has the password. The data are those of DATABASE_URL, or of
DATA_DIR where that is not set: accounts, keys, sessions, calls, money, answers.

No gateway may work on either. The data are shut where they are, copied, counted
and summed at both ends, and proved: only then is the target open, and what was
left stays shut. Ended amid it, by whatever, the same command goes on where it
stopped. Exit code 1 where anything differs: then nobody can use the target.
--undo --force does not look at TARGET: what was written there since is left.`,
    arguments: [{ name: "TARGET", isOptional: true, isShownNeeded: true, completes: "file" }],
    options: {
      ...config,
      undo: { type: "boolean", summary: "open the source again, if TARGET is as it was" },
      force: { type: "boolean", summary: "move a file at TARGET aside, or empty what was not ended" },
      "accept-findings": { type: "boolean", summary: "move also what `reconcile` finds" },
    },
  },
  compact: {
    summary: "give the room of deleted rows back to the disk",
    details: `Calls that retention has deleted leave room in the file, which is used again;
this makes the file as small as what is in it. No gateway may work on it
meanwhile. It takes as much room again beside the file until it is done, and
some seconds for each gigabyte. Ended amid it, the file is as it was.`,
    options: config,
  },
  health: {
    summary: "ask whether the gateway at HOST and PORT is ready",
    details: `Prints one line. Exit code 0 where it is ready, 1 where it is not. Reads no
configuration file: HOST and PORT of the environment are those of \`serve\`,
127.0.0.1 and 8080 unless they are set.`,
    options: {
      url: { type: "string", value: "URL", summary: "another address, as https://gateway.example.com" },
      timeout: { type: "string", value: "SECONDS", summary: "how long to wait for the answer; default 5" },
    },
  },
  completion: {
    summary: "print the completion script of a shell",
    details: `bash:  source <(model-gateway completion bash)
zsh:   source <(model-gateway completion zsh)
fish:  model-gateway completion fish | source
PowerShell:
  model-gateway completion powershell | Out-String | Invoke-Expression

The start file of the shell is the place for that line.`,
    arguments: [{ name: "SHELL", completes: shells }],
    options: {},
  },
  help: {
    summary: "explain a command, or a topic: configuration, exit-codes",
    arguments: [{ name: "COMMAND", isOptional: true }],
    options: {},
  },
  files: {
    summary: "list the files inside, or print one: licences, protos, examples",
    arguments: [{ name: "PATH", isOptional: true }],
    options: {},
  },
  version: { summary: "print the version", options: {} },
} as const satisfies Readonly<Record<string, CommandSpec>>;

/** CommandName is the whole name of a command, as `keys create`. */
export type CommandName = keyof typeof commandTable;

/** specs is the table with its literal types forgotten, for those that walk over it. */
export const specs: ReadonlyMap<string, CommandSpec> = new Map(Object.entries(commandTable));

/** actionsOf returns the second words of a group, in the order of the table; none for what is no group. */
export function actionsOf(group: string): string[] {
  return [...specs.keys()].flatMap((name) => (name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : []));
}

/** firstWords returns the first words of all commands, each with its summary, in the order of the table. */
export function firstWords(): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  for (const [name, { summary }] of specs) {
    const [first = ""] = name.split(" ");
    words.set(first, groups.get(first) ?? summary);
  }
  return words;
}
