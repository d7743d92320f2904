/** The settings of prices: the rate and the markup of the catalogue, and what models without a price cost. */
import { Select, Stack } from "@mantine/core";
import { useState } from "react";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { isObject, isSame, type JsonObject, type JsonValue, objectAt } from "../../configuration/document.ts";
import type { Edition } from "../../configuration/use-edition.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { PriceFields } from "../operator-models/price-fields.tsx";
import { type PriceValues, priceEntry, priceValuesOf } from "../operator-models/price-values.ts";
import { isInFile, SettingForm } from "./setting-form.tsx";
import type { SettingSection } from "./settings.ts";

const said = texts(
  {
    unpriced: "Models without a price",
    unpricedAbout:
      "Such as those of a local server. The first account is the operator's; to others they are then refused. Accounts that are billed afterwards may always call them.",
    free_for_first_account: "Free for the first account",
    free: "Free for everybody",
    refused: "Refused",
    price: "One price for all of them",
  },
  {
    unpriced: "没有价格的模型",
    unpricedAbout:
      "例如本地服务器的模型。首个账户即网关管理员的账户，选择仅对其免费时，其他账户会被拒绝。后付费账户始终可以调用。",
    free_for_first_account: "仅对首个账户免费",
    free: "对所有人免费",
    refused: "拒绝",
    price: "统一价格",
  },
);

const words = ["free_for_first_account", "free", "refused", "price"] as const;

type Word = (typeof words)[number];

interface Unpriced {
  readonly word: Word;
  readonly price: PriceValues;
}

interface Props extends Pick<Edition, "onDirty" | "onSaved"> {
  readonly section: SettingSection;
  readonly configuration: Configuration;
}

export function MoneyForm({ section, configuration, ...edition }: Props) {
  const t = useTexts(said);
  const written = configuration.effective?.unpriced_models;
  const initial = unpricedOf(written);
  const [value, setValue] = useState(initial);
  const isFixed = isInFile(configuration, "unpriced_models");
  const changed = isFixed ? {} : changedOf(configuration.document, value);
  const fields = (
    <Stack gap="md" mt="md">
      <Select
        label={t.unpriced}
        description={t.unpricedAbout}
        data={words.map((word) => ({ value: word, label: t[word] }))}
        value={value.word}
        onChange={(word) => setValue({ ...value, word: (word as Word | null) ?? "refused" })}
        allowDeselect={false}
        disabled={isFixed}
        maw={480}
      />
      {value.word === "price" && !isFixed && (
        <PriceFields
          value={value.price}
          onChange={(price) => setValue({ ...value, price })}
          vendor={undefined}
          kind="chat"
        />
      )}
    </Stack>
  );
  return (
    <SettingForm
      {...edition}
      section={section}
      configuration={configuration}
      more={{ changed, fields, reset: () => setValue(initial) }}
    />
  );
}

function unpricedOf(written: JsonValue | undefined): Unpriced {
  if (isObject(written)) return { word: "price", price: priceValuesOf(objectAt(written, "price")) };
  const word = words.find((one) => one === written) ?? "free_for_first_account";
  return { word, price: priceValuesOf({}) };
}

function changedOf(document: JsonObject | undefined, { word, price }: Unpriced): JsonObject {
  const before = document?.unpriced_models;
  const after = word === "price" ? { price: priceEntry(price) ?? {} } : word;
  if (before === undefined && after === "free_for_first_account") return {};
  return isSame(before, after) ? {} : { unpriced_models: after };
}
