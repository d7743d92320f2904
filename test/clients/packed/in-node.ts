/** Runs scenarios that a parent process asks for: `{ name, target }` in, `{ result }` or `{ error }` out. */
import { createTransport } from "@model-gateway/client";
import { type Connect, type ScenarioName, scenarios, type Target } from "./scenarios.js";

interface Asked {
  readonly name: ScenarioName;
  readonly target: Target;
}

const connect: Connect =
  process.argv[2] === "gRPC" ? (await import("@model-gateway/client/node")).createTransport : createTransport;

process.on("message", ({ name, target }: Asked) => {
  scenarios[name](connect, target).then(
    (result) => process.send?.({ result }),
    (error) => process.send?.({ error: String(error?.stack ?? error) }),
  );
});
