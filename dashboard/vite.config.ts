/** How the dashboard is built (`build.js`), and served while it is worked on (`npm run dashboard`). */
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Where the gateway is, for the development server. */
const gateway = "http://127.0.0.1:8080";

export default defineConfig({
  root: import.meta.dirname,
  base: "/dashboard/",
  plugins: [react()],
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
  },
  server: { proxy: { "/modelgateway.v1": gateway } },
});
