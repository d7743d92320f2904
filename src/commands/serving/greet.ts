/** Tells whoever started a gateway where it is, and where its first user is made. */
import { existsSync } from "node:fs";
import { LinkKind } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { type Config, configFile } from "../../config/config.ts";
import { issueSetUpLink, linkUrl } from "../../services/people/links.ts";
import type { Storage } from "../../storage/storage.ts";
import { clockOf } from "../command.ts";
import { rootUrl } from "./listening.ts";

/** Greeted is where the gateway listens. */
export interface Greeted {
  readonly host: string;
  readonly port: number;
  readonly metricsPort: number | undefined;
}

/** greeter returns a function that prints messages to standard output. `file` is the configuration file that was named. */
export function greeter(config: Config, file: string | undefined) {
  return async (
    gateway: Greeted,
    storage: Pick<Storage, "users" | "links" | "transact" | "database">,
  ): Promise<void> => {
    const root = config.publicUrls.root ?? rootUrl(gateway);
    console.log(`model-gateway serves at ${rootUrl(gateway)}`);
    console.log(`Its dashboard is at ${root}/dashboard`);
    const { metricsPort: port } = gateway;
    if (config.metrics && port !== undefined) {
      console.log(`Metrics are read at ${rootUrl({ ...config.metrics, port })}/metrics`);
    }
    if (configFile(file) === undefined && existsSync("gateway.yaml")) console.log(notRead);
    const link = await issueSetUpLink(storage, clockOf(storage)());
    if (!link) return;
    console.log("Nobody operates this gateway yet. Open this address within 24 hours to become its first user:");
    console.log(linkUrl(root, LinkKind.SET_UP, link.token));
  };
}

const notRead = "gateway.yaml of this folder is not read: `--config gateway.yaml`, or GATEWAY_CONFIG, names it";
