/** The accounts, keys, models and habits of the furnished demo. All names are made up, but for those of vendors and models. */

export interface PlannedKey {
  readonly name: string;
  /** Its share of the account's calls; 0: never used. */
  readonly weight: number;
  /** The models that it calls, by `habits`. */
  readonly habit: keyof typeof habits;
  /** age is how many days ago it was created. */
  readonly age: number;
  /** limit is in units. */
  readonly limit?: number;
  readonly isDisabled?: true;
  readonly isAdmin?: true;
  /** In how many days it expires; below 0 it has expired. */
  readonly expiresIn?: number;
  /** The only models that it may call. */
  readonly models?: readonly string[];
}

export interface PlannedAccount {
  readonly name: string;
  /** Calls on a working day. */
  readonly calls: number;
  readonly postpaid?: true;
  readonly suspended?: true;
  readonly user?: string;
  readonly keys: readonly PlannedKey[];
}

/** Habit is what one kind of program asks: medians of tokens, and the share of the input that a prompt cache has. */
export interface Habit {
  readonly model: string;
  readonly weight: number;
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly reasoning?: number;
}

export const habits = {
  assistant: [
    { model: "gpt-5-mini", weight: 6, input: 900, output: 260, reasoning: 0.3 },
    { model: "claude-sonnet-5", weight: 3, input: 1400, output: 420, cached: 0.6 },
    { model: "gpt-5.1", weight: 1, input: 1100, output: 500, reasoning: 0.4 },
  ],
  agent: [
    { model: "claude-sonnet-5", weight: 5, input: 9000, output: 600, cached: 0.85 },
    { model: "claude-opus-5", weight: 1, input: 12_000, output: 900, cached: 0.8 },
    { model: "gpt-5.1", weight: 2, input: 7000, output: 700, cached: 0.7, reasoning: 0.5 },
  ],
  batch: [
    { model: "deepseek-flash", weight: 5, input: 2200, output: 180 },
    { model: "gpt-5-nano", weight: 3, input: 1800, output: 120 },
    { model: "claude-haiku-4-5", weight: 2, input: 2000, output: 160 },
  ],
  search: [
    { model: "text-embedding-3-small", weight: 8, input: 480, output: 0 },
    { model: "text-embedding-3-large", weight: 1, input: 520, output: 0 },
  ],
  research: [
    { model: "claude-opus-5", weight: 3, input: 5200, output: 1600, cached: 0.3 },
    { model: "deepseek-v4-pro", weight: 3, input: 4000, output: 1900, reasoning: 0.7 },
    { model: "gpt-5.1", weight: 2, input: 4200, output: 1500, reasoning: 0.6 },
  ],
} as const satisfies Readonly<Record<string, readonly Habit[]>>;

const key = (name: string, habit: PlannedKey["habit"], weight: number, more: Partial<PlannedKey> = {}): PlannedKey => ({
  ...{ name, habit, weight, age: 34 },
  ...more,
});

/** The keys of the demo's own account: thirty, with the two of every demo. Two of them reach their credit limit. */
const ownKeys: readonly PlannedKey[] = [
  key("Support chat, production", "assistant", 30, { limit: 40_000 }),
  key("Support chat, staging", "assistant", 3),
  key("Search index", "search", 22),
  key("Search index, staging", "search", 2, { age: 26 }),
  key("Code review agent", "agent", 9, { limit: 30_000 }),
  key("Release notes", "research", 1),
  key("Invoice extraction", "batch", 12, { limit: 5_000 }),
  key("Invoice extraction, backfill", "batch", 6, { age: 12, isDisabled: true }),
  key("Translation service", "batch", 9),
  key("Data science notebooks", "research", 4, { limit: 12_000 }),
  key("Weekly report", "research", 1, { models: ["claude-opus-5", "gpt-5.1"] }),
  key("Mobile app, iOS", "assistant", 8, { age: 31 }),
  key("Mobile app, Android", "assistant", 10, { age: 31 }),
  key("Mobile app, beta", "assistant", 1, { age: 18, expiresIn: 9 }),
  key("Moderation", "batch", 14),
  key("Recommendations", "search", 9, { age: 22 }),
  key("CI evaluation", "batch", 4, { models: ["family:openai"] }),
  key("Terraform", "assistant", 0, { isAdmin: true }),
  key("Amara’s laptop", "agent", 2, { age: 29, limit: 3_000 }),
  key("Benoît’s laptop", "agent", 2, { age: 28, limit: 3_000 }),
  key("Chiyo’s laptop", "agent", 3, { age: 27, limit: 3_000 }),
  key("Dmitri’s laptop", "agent", 1, { age: 20, limit: 3_000 }),
  key("Elif’s laptop", "agent", 1, { age: 8, limit: 3_000 }),
  key("Hackathon", "assistant", 2, { age: 16, limit: 500, expiresIn: -2 }),
  key("Sales demo", "assistant", 1, { age: 15, limit: 20 }),
  key("Onboarding bot", "assistant", 3, { age: 14 }),
  key("Log triage", "agent", 2, { age: 10 }),
  key("Prompt experiments", "research", 1, { age: 5, limit: 30 }),
];

export const plannedAccounts: readonly PlannedAccount[] = [
  { name: "demo", calls: 620, keys: ownKeys },
  {
    ...{ name: "Northwind Labs", calls: 190, user: "ines@northwind.example" },
    keys: [key("Production", "assistant", 5), key("Notebooks", "research", 1)],
  },
  {
    ...{ name: "Halcyon Health", calls: 90, user: "tomas@halcyon.example", postpaid: true },
    keys: [key("Triage", "assistant", 3), key("Coding of records", "batch", 4)],
  },
  {
    ...{ name: "Kestrel Robotics", calls: 70, user: "yuki@kestrel.example" },
    keys: [key("Planner", "agent", 3), key("Manuals", "search", 4)],
  },
  {
    ...{ name: "Brightline Media", calls: 25 },
    keys: [key("Newsroom", "research", 2, { limit: 4_000 })],
  },
  { name: "Fairground Pilot", calls: 0, suspended: true, keys: [key("Pilot", "assistant", 0)] },
];

/** vendorKeys are the vendors whose models the demo's history has. */
export const vendorKeys = {
  OPENAI_API_KEY: "set-OPENAI_API_KEY-to-call-it",
  ANTHROPIC_API_KEY: "set-ANTHROPIC_API_KEY-to-call-it",
  DEEPSEEK_API_KEY: "set-DEEPSEEK_API_KEY-to-call-it",
} as const;
