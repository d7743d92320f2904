/** Runs scenarios in a page: `run(name, target)` of its window. */
import { createTransport, type JsonValue } from "@model-gateway/client";
import { type ScenarioName, scenarios, type Target } from "./scenarios.js";

declare global {
  interface Window {
    run(name: ScenarioName, target: Target): Promise<JsonValue>;
  }
}

window.run = (name, target) => scenarios[name](createTransport, target);
