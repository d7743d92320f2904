/** Picks whose server a new upstream is, from a list that is searched. */
import { useQuery } from "@connectrpc/connect-query";
import { Box, SimpleGrid, Stack, Text, UnstyledButton } from "@mantine/core";
import { IconServer } from "@tabler/icons-react";
import { useState } from "react";
import type { Vendor } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Parted } from "../../parts/parted.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import text from "../../parts/text.module.css";
import classes from "./pick-vendor.module.css";

const said = texts(
  {
    search: "Search vendors",
    hint: "Name or address",
    vendors: "Vendors",
    own: "Another server",
    ownAbout: "Anything that speaks OpenAI's or Anthropic's API: another gateway, a local server.",
    models: (count: string) => `Models with prices: ${count}`,
    anyModels: "The models that it lists",
    noAddress: "Your own server",
    none: "No vendor matches. Choose “Another server”.",
  },
  {
    search: "搜索厂商",
    hint: "名称或地址",
    vendors: "厂商",
    own: "其他服务器",
    ownAbout: "任何兼容 OpenAI 或 Anthropic API 的服务：其他网关、本地服务器等。",
    models: (count: string) => `${count} 个带价格的模型`,
    anyModels: "其列表中的模型",
    noAddress: "自建服务器",
    none: "没有匹配的厂商，请选择“其他服务器”。",
  },
);

interface Props {
  /** onPick gets the vendor; undefined: another server. */
  readonly onPick: (vendor: Vendor | undefined) => void;
}

export function PickVendor({ onPick }: Props) {
  const t = useTexts(said);
  const vendors = useQuery(OperatorService.method.listVendors, {});
  const [sought, setSought] = useState("");
  const looked = sought.trim().toLowerCase();
  const fits = ({ name, title, baseUrl }: Vendor) =>
    [name, title, baseUrl].some((text) => text.toLowerCase().includes(looked));
  return (
    <Stack>
      <SearchInput label={t.search} hint={t.hint} value={sought} onChange={setSought} maw={360} />
      <Answer of={vendors} lines={6}>
        {({ vendors }) => {
          const shown = vendors.filter(fits);
          return (
            <Stack gap="sm">
              <SimpleGrid
                component="ul"
                aria-label={t.vendors}
                cols={{ base: 1, xs: 2, md: 3 }}
                spacing="sm"
                className={text.list}
              >
                {shown.map((vendor) => (
                  <VendorChoice key={vendor.name} vendor={vendor} onPick={() => onPick(vendor)} />
                ))}
                <Box component="li">
                  <UnstyledButton className={classes.vendor} onClick={() => onPick(undefined)}>
                    <Text fw={600} size="sm">
                      <IconServer size={14} aria-hidden /> {t.own}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {t.ownAbout}
                    </Text>
                  </UnstyledButton>
                </Box>
              </SimpleGrid>
              {shown.length === 0 && (
                <Text size="sm" c="dimmed" role="status">
                  {t.none}
                </Text>
              )}
            </Stack>
          );
        }}
      </Answer>
    </Stack>
  );
}

function VendorChoice({ vendor, onPick }: { readonly vendor: Vendor; readonly onPick: () => void }) {
  const t = useTexts(said);
  const format = useFormat();
  const { title, baseUrl, models } = vendor;
  return (
    <Box component="li">
      <UnstyledButton className={classes.vendor} onClick={onPick}>
        <Text fw={600} size="sm">
          {title}
        </Text>
        <Text size="xs" c="dimmed" className={text.anywhere}>
          {baseUrl ? <Parted of={baseUrl} /> : t.noAddress}
        </Text>
        <Text size="xs" c="dimmed">
          {models > 0 ? t.models(format.count(models)) : t.anyModels}
        </Text>
      </UnstyledButton>
    </Box>
  );
}
