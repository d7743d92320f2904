/**
 * Builds the dashboard when the project is installed. Where the development dependencies were left out there is nothing
 * to build it with: then one that was built before is served.
 */
import { fileURLToPath } from "node:url";

let vite;
try {
  vite = await import("vite");
} catch (error) {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  console.warn("model-gateway: vite is not installed, so the dashboard is not built");
}
await vite?.build({
  configFile: fileURLToPath(new URL("vite.config.ts", import.meta.url)),
  logLevel: "warn",
});
