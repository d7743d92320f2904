/** Adds an upstream: whose server it is, then its address and key, tried before it is saved. */
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, Button, Group } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Vendor } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { type Documents, entryOf } from "../../configuration/document.ts";
import { useConfiguration } from "../../configuration/use-configuration.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import { PickVendor } from "./pick-vendor.tsx";
import { UpstreamForm } from "./upstream-form.tsx";
import { newUpstream, type UpstreamValues } from "./upstream-values.ts";

const said = texts(
  {
    title: "Add an upstream",
    about: "A server that models run on: a vendor, another gateway, or one of your own.",
    whose: "Whose server is it?",
    other: "Choose another vendor",
    all: "All upstreams",
    titleOf: (name: string) => `Add an upstream: ${name}`,
  },
  {
    title: "添加上游",
    about: "运行模型的服务器：厂商、其他网关，或自建的服务器。",
    whose: "这是谁的服务器？",
    other: "选择其他厂商",
    all: "全部上游",
    titleOf: (name: string) => `添加上游：${name}`,
  },
);

export function AddUpstreamPage() {
  const t = useTexts(said);
  const navigate = useNavigate();
  const configuration = useConfiguration();
  const vendors = useQuery(OperatorService.method.listVendors, {});
  const [picked, setPicked] = useState<{ readonly vendor: Vendor | undefined }>();
  const toUpstream = (name: string) =>
    void navigate({ to: "/operator/upstreams/$upstream", params: { upstream: name } });
  return (
    <Page
      title={picked?.vendor ? t.titleOf(picked.vendor.title) : t.title}
      about={t.about}
      actions={
        <Anchor component={Link} to="/operator/upstreams" size="sm">
          {t.all}
        </Anchor>
      }
    >
      {picked === undefined ? (
        <Section title={t.whose}>
          <PickVendor onPick={(vendor) => setPicked({ vendor })} />
        </Section>
      ) : (
        <>
          <Group>
            <Button
              variant="default"
              size="xs"
              leftSection={<IconArrowLeft size={14} aria-hidden />}
              onClick={() => setPicked(undefined)}
            >
              {t.other}
            </Button>
          </Group>
          <Answer of={configuration} lines={8}>
            {({ configuration }) =>
              configuration && (
                <UpstreamForm
                  configuration={configuration}
                  initial={initialOf(picked.vendor, (name) => isTaken(configuration, name))}
                  before={undefined}
                  vendors={vendors.data?.vendors.map(({ name }) => name) ?? []}
                  onSaved={toUpstream}
                />
              )
            }
          </Answer>
        </>
      )}
    </Page>
  );
}

/** isTaken tells whether an upstream of the name is there already. */
function isTaken({ effective }: Documents, name: string): boolean {
  return entryOf(effective, "upstreams", name) !== undefined;
}

/**
 * initialOf returns what is known of a vendor's server; another server serves what it lists, for it has no models in the catalogue. A
 * second one of a vendor needs a name of its own.
 */
function initialOf(vendor: Vendor | undefined, taken: (name: string) => boolean): UpstreamValues {
  if (!vendor) return { ...newUpstream, discover: "yes" };
  const { name, kind, baseUrl, discovers } = vendor;
  const isSecond = taken(name);
  return {
    ...newUpstream,
    name: isSecond ? `${name}-2` : name,
    kind,
    baseUrl,
    vendor: isSecond ? name : "",
    discover: discovers ? "yes" : "",
  };
}
