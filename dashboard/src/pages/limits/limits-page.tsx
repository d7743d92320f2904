/** Tiers and settings, each section a form; and what is bound to the process, which gateway.yaml alone sets. */
import { useQuery } from "@connectrpc/connect-query";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { Locked } from "../../configuration/locked.tsx";
import { useConfiguration } from "../../configuration/use-configuration.ts";
import { useEdition } from "../../configuration/use-edition.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import { limitSections } from "./limit-sections.ts";
import { RateTable } from "./limit-tables.tsx";
import { MoneyForm } from "./money-form.tsx";
import { SettingForm } from "./setting-form.tsx";
import { SettingList } from "./setting-list.tsx";
import { type SettingSection, settingSections } from "./settings.ts";
import { TiersEditor } from "./tiers-editor.tsx";

const said = texts(
  {
    title: "Limits and settings",
    about: "What accounts may do, and how the gateway treats calls. A change takes effect for the next call.",
    rates: limitSections.en.rates,
    ratesAbout: "How often an account may make these calls, besides the limit of its tier. They are part of the API.",
    process: limitSections.en.process,
    processAbout: "These are set in gateway.yaml or the environment alone, and take effect when the gateway starts.",
  },
  {
    title: "限制与设置",
    about: "账户的用量上限，以及网关处理调用的方式。更改对下一次调用生效。",
    rates: limitSections["zh-CN"].rates,
    ratesAbout: "除等级限制外，每个账户调用以下 RPC 的速率上限。这是 API 的一部分。",
    process: limitSections["zh-CN"].process,
    processAbout: "仅在 gateway.yaml 或环境变量中设置，网关启动时生效。",
  },
);

export function LimitsPage() {
  const t = useTexts(said);
  const limits = useQuery(OperatorService.method.describeLimits, {});
  const configuration = useConfiguration();
  return (
    <Page title={t.title} about={t.about}>
      <Answer of={configuration} lines={8}>
        {({ configuration }) => (
          <Answer of={limits} lines={8}>
            {(limits) => (
              <>
                {configuration && <TiersEditor configuration={configuration} tiers={limits.tiers} />}
                {configuration && <Forms configuration={configuration} />}
                <Section id="process" title={t.process} about={t.processAbout}>
                  <SettingList of={limits} />
                </Section>
                <Section id="rates" title={t.rates} about={t.ratesAbout}>
                  <RateTable rates={limits.rpcRates} />
                </Section>
              </>
            )}
          </Answer>
        )}
      </Answer>
    </Page>
  );
}

function Forms({ configuration }: { readonly configuration: Configuration }) {
  return (
    <>
      <Locked of={configuration} />
      {settingSections.map((section) => (
        <SectionForm key={section.name} section={section} configuration={configuration} />
      ))}
    </>
  );
}

interface SectionProps {
  readonly section: SettingSection;
  readonly configuration: Configuration;
}

function SectionForm({ section, configuration }: SectionProps) {
  const { edition, onDirty, onSaved } = useEdition(configuration);
  const Form = section.name === "money" ? MoneyForm : SettingForm;
  return <Form key={edition.version} configuration={edition} {...{ section, onDirty, onSaved }} />;
}
