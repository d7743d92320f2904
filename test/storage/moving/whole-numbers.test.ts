/** Numbers move as they are, also sums of all accounts that are more than a double counts exactly. */
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, test } from "vitest";
import { shareCommands } from "../../support/shared-commands.ts";
import { postgresPrograms, query, startPostgres } from "../../support/storage/postgres.ts";

const { commands, folder } = shareCommands();

/** What an hour of all accounts came to, in millionths of the unit. */
const cost = 12_000_000_000_000_005n;

test.skipIf(!postgresPrograms)("what a proof remembers of an hour goes to Postgres and back", async () => {
  const postgres = await startPostgres();
  try {
    const url = await postgres.createDatabase();
    const ofFile = { DATA_DIR: join(folder.path, "from") };
    expect((await commands.run(["accounts", "create", "--name", "one"], ofFile)).code).toBe(0);
    const sqlite = new Sqlite(join(ofFile.DATA_DIR, "gateway.db"));
    const insert = sqlite.prepare(
      "INSERT INTO closed_periods (hour, requests, cost, hash, proved_at) VALUES (0, 2, ?, 'a', 1)",
    );
    insert.run(cost);
    sqlite
      .prepare("INSERT INTO usage_hours (account_id, hour, key_id, model, waived) VALUES ('a', 0, 'k', 'm', ?)")
      .run(cost);
    sqlite.close();
    // Its calls are not there, so the proof finds that.
    const moved = await commands.run(["migrate-to", "--accept-findings", url], ofFile);
    expect([moved.code, moved.stderr]).toEqual([0, expect.any(String)]);
    const texts = `SELECT CAST(c.cost AS text) AS cost, CAST(u.waived AS text) AS waived FROM closed_periods c
      JOIN usage_hours u ON u.hour = c.hour`;
    const whole = [{ cost: String(cost), waived: String(cost) }];
    expect(await query(url, texts)).toEqual(whole);
    const back = join(folder.path, "back.db");
    const ended = await commands.run(["migrate-to", "--accept-findings", back], { DATABASE_URL: url });
    expect([ended.code, ended.stderr]).toEqual([0, expect.any(String)]);
    const file = new Sqlite(back);
    expect(file.prepare(texts).all()).toEqual(whole);
    file.close();
  } finally {
    await postgres.stop();
  }
});
