/** The operator's RPCs for the built-in catalogue: its vendors and models, and which of them are served. */
import {
  ListBuiltInModelsResponseSchema,
  ListVendorsResponseSchema,
} from "../../../gen/modelgateway/v1/configuration_pb.ts";
import type { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { builtInCatalogue } from "../../config/catalogue/built-in.ts";
import { inUnits } from "../../config/catalogue/currency.ts";
import { modelAsWritten } from "../../config/catalogue/written.ts";
import type { StoredConfiguration } from "../../config/stored/stored-configuration.ts";
import { asked } from "../asked.ts";
import { whole } from "../whole.ts";
import { orRefusal } from "./configuration.ts";
import { objectOf } from "./configuration-messages.ts";

type Rpcs = Pick<ServiceImplementation<typeof OperatorService>, "listVendors" | "listBuiltInModels">;

export function catalogueRpcs({ stored }: { readonly stored: Pick<StoredConfiguration, "read"> }): Rpcs {
  return {
    async listVendors() {
      const { vendors, inDollars } = builtInCatalogue();
      const counts = Map.groupBy(inDollars, ({ vendor }) => vendor);
      return whole(ListVendorsResponseSchema, {
        vendors: [...vendors]
          .sort((a, b) => a.name.localeCompare(b.name))
          .map((vendor) => ({
            name: vendor.name,
            kind: vendor.kind,
            baseUrl: vendor.base_url ?? "",
            urlSuffix: vendor.url_suffix ?? "",
            // A vendor with a port of its own, as Ollama, may be a server of the operator's, which needs no key.
            needsKey: vendor.base_url !== undefined && vendor.url_port === undefined,
            keyVariable: vendor.key_variable,
            models: counts.get(vendor.name)?.length ?? 0,
            title: vendor.title,
            discovers: vendor.discover ?? vendor.discover_elsewhere ?? false,
          })),
      });
    },
    async listBuiltInModels({ request }) {
      const vendor = asked(request.message().vendor);
      const { config } = await orRefusal(stored.read());
      const { catalogue, cataloguePrices } = config;
      const known = new Set(catalogue.map(({ id }) => id));
      const replaced = builtInCatalogue().inDollars.filter(({ id }) => !known.has(id));
      const all = [
        ...catalogue.map((model) => ({ model, isReplaced: false })),
        ...replaced.map((model) => ({ model: inUnits(model, cataloguePrices), isReplaced: true })),
      ];
      const models = all.filter(({ model }) => vendor === undefined || model.vendor === vendor);
      return whole(ListBuiltInModelsResponseSchema, {
        models: models.map(({ model, isReplaced }) => ({
          id: model.id,
          vendor: model.vendor ?? "",
          model: objectOf(modelAsWritten(model)),
          replaced: isReplaced,
        })),
      });
    },
  };
}
