/** How the dashboard is built (`build.js`), and served while it is worked on (`npm run dashboard`). */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { bareProtos } from "./bare-protos.ts";

/** gateway is where the development server finds the gateway. */
const gateway = "http://127.0.0.1:8080";

/** fontLicence adds the licence of the face to those of the bundled packages: Vite tells those of modules alone. */
const fontLicence: Plugin = {
  name: "font-licence",
  writeBundle({ dir = "" }) {
    const text = readFileSync(join(import.meta.dirname, "../node_modules/@fontsource-variable/inter/LICENSE"), "utf8");
    appendFileSync(join(dir, "licenses.md"), `\n## Inter (OFL-1.1)\n\n${text}`);
  },
};

export default defineConfig({
  root: import.meta.dirname,
  base: "/dashboard/",
  plugins: [bareProtos, react(), fontLicence],
  resolve: {
    alias: { "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js": join(import.meta.dirname, "no-rules.ts") },
  },
  build: {
    // The content security policy lets nothing in that is written into a page.
    assetsInlineLimit: 0,
    // Whose work the bundle holds, told beside it.
    license: { fileName: "licenses.md" },
    // Old browsers' polyfill for module preloading is a script of its own, and not needed.
    modulePreload: { polyfill: false },
    target: "es2023",
    // The first browsers that know `light-dark()`: for older ones it would become variables that nobody sets, and borders without a colour.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
  },
  server: { proxy: { "/modelgateway.v1": gateway } },
});
