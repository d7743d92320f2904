/** The settings of a model: names, what it can do, its price beside the vendor's, and its targets. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Button, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useId } from "react";
import type { ModelPrice } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { entriesOf, textAt } from "../../configuration/document.ts";
import { useFaultAt } from "../../configuration/faults.tsx";
import { Locked } from "../../configuration/locked.tsx";
import { ReviewBar } from "../../configuration/review-bar.tsx";
import { useDirty } from "../../configuration/use-edition.ts";
import { useReview } from "../../configuration/use-review.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Section } from "../../parts/section.tsx";
import { Abilities, Names } from "./model-parts.tsx";
import { type ModelValues, modelEntry } from "./model-values.ts";
import { PriceFields } from "./price-fields.tsx";
import type { PriceValues } from "./price-values.ts";
import { TargetsEditor } from "./targets-editor.tsx";

const said = texts(
  {
    idNeeded: "Enter a name",
    familyNeeded: "Enter a family",
    price: "Price",
    takeVendor: "Take the vendor's price",
    targets: "Targets",
    targetsAbout:
      "Where its calls go. Those of the first level share the calls by weight; the next level is asked when all above fail.",
    addTitle: (id: string) => `Add ${id}`,
    changeTitle: (id: string) => `Change ${id}`,
  },
  {
    idNeeded: "请输入名称",
    familyNeeded: "请输入系列",
    price: "价格",
    takeVendor: "采用厂商价格",
    targets: "目标",
    targetsAbout: "调用的去向。第一级的目标按权重分担调用；全部失败后才调用下一级。",
    addTitle: (id: string) => `添加 ${id}`,
    changeTitle: (id: string) => `更改 ${id}`,
  },
);

interface Props {
  readonly configuration: Configuration;
  readonly initial: ModelValues;
  /** before is the stored entry that is changed; undefined: it is a new one. */
  readonly before: JsonObject | undefined;
  /** fixed is whether the model is there already, so that its name stays. */
  readonly fixed: boolean;
  /** vendorPrice is the vendor's, in millionths of a dollar; catalogue is the same as the form has it, in the gateway's unit. */
  readonly vendorPrice: ModelPrice | undefined;
  readonly catalogue: PriceValues | undefined;
  readonly onSaved: (id: string, version: number) => void;
  readonly onDirty?: (isDirty: boolean) => void;
}

export function ModelForm({ configuration, initial, before, fixed, vendorPrice, catalogue, onSaved, onDirty }: Props) {
  const t = useTexts(said);
  const formId = useId();
  const form = useForm<ModelValues>({
    initialValues: initial,
    validate: {
      id: (id) => (id.trim() === "" ? t.idNeeded : null),
      family: (family) => (family.trim() === "" ? t.familyNeeded : null),
    },
  });
  useDirty(form.isDirty(), onDirty);
  const review = useReview(configuration);
  const faultAt = useFaultAt();
  const id = form.values.id.trim();
  const at = (key: string) => faultAt(review.error, `models[${id}].${key}`);
  const upstreams = entriesOf(configuration.effective, "upstreams").map((entry) => textAt(entry, "name"));
  const submit = form.onSubmit((values) => review.review([{ model: modelEntry(values, before) }]));
  return (
    <Stack gap="lg">
      <Locked of={configuration} />
      <form id={formId} onSubmit={submit} noValidate>
        <Stack gap="lg">
          <Names form={form} fixed={fixed} at={at} />
          <Abilities form={form} at={at} />
          <Section
            title={t.price}
            actions={
              catalogue && (
                <Button variant="default" size="xs" onClick={() => form.setFieldValue("price", catalogue)}>
                  {t.takeVendor}
                </Button>
              )
            }
          >
            <PriceFields
              value={form.values.price}
              onChange={(price) => form.setFieldValue("price", price)}
              vendor={vendorPrice}
              kind={form.values.kind}
              errorAt={(key) => at(`price.${key}`)}
            />
          </Section>
          <Section title={t.targets} about={t.targetsAbout}>
            <TargetsEditor
              value={form.values.targets}
              onChange={(targets) => form.setFieldValue("targets", targets)}
              upstreams={upstreams}
              modelId={id}
            />
          </Section>
        </Stack>
      </form>
      <ReviewBar
        of={review}
        formId={formId}
        title={fixed ? t.changeTitle(id) : t.addTitle(id)}
        onSaved={(version) => onSaved(id, version)}
      />
    </Stack>
  );
}
