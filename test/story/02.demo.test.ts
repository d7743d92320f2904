/** The demo: one command makes everything and shows a call that can be pasted into a shell. */
import { expect, test } from "vitest";
import { freePort } from "../../bench/free-port.ts";
import { bin, Running, run, systemNode, temporaryFolder } from "../support/command.ts";

test("the demo shows a call by curl, and the pasted call is answered", async () => {
  const folder = await temporaryFolder();
  const demo = new Running(systemNode, [bin, "demo"], { DATA_DIR: folder.path, PORT: String(await freePort()) });
  try {
    const [command] = await demo.shows(/ {2}curl (?:.*\\\n)*.*\n/);
    await demo.shows(/Serving until Ctrl-C\./);
    const pasted = await run("sh", ["-c", `${command.trim()} --silent --fail --noproxy '*'`], {});
    expect(pasted.code, pasted.stderr).toBe(0);
    expect(JSON.parse(pasted.stdout)).toMatchObject({ choices: [{ message: { role: "assistant" } }] });
  } finally {
    await demo.stop("SIGINT");
    await folder.remove();
  }
});
