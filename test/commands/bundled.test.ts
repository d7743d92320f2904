/** Commands of the bundled program, which reads other files than the source does: each of the catalogue is JSON there. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readCatalogueAssets } from "../../packaging/assets.ts";
import { bundle } from "../../packaging/bundle.ts";
import { serverChunk, serverFolder } from "../../packaging/programs.ts";
import { root, run, temporaryFolder } from "../support/command.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  const { chunks } = await bundle("main", "src/main.ts", true);
  const files = [
    ...[...chunks].map(([name, code]) => [`${serverFolder}/${name}`, code] as const),
    ...readCatalogueAssets(),
  ];
  for (const [path, content] of files) {
    const file = join(folder.path, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}, 60_000);

afterAll(() => folder.remove());

const command = (...args: string[]) =>
  run(process.execPath, [join(folder.path, serverFolder, serverChunk), ...args], {});

test.each(["litellm/many-vendors.yaml", "new-api/channels.json"])("imports %s as the source does", async (fixture) => {
  const words = ["import", dirname(fixture), join(root, "test/fixtures", fixture)];
  const [bundled, source] = [
    await command(...words),
    await run(process.execPath, [join(root, "src/main.ts"), ...words], {}),
  ];
  expect(bundled).toEqual(source);
  expect([bundled.code, bundled.stdout]).toEqual([0, expect.stringContaining("upstreams:")]);
});
