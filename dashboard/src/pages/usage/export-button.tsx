/** Exports the filtered calls as a file: shows the progress, can be cancelled, and shows a failure. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { Button, Group, Text } from "@mantine/core";
import { IconDownload, IconX } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { UsageService } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { download } from "../../parts/download.ts";
import { Failure } from "../../parts/failure.tsx";
import { notify } from "../../parts/notify.ts";
import type { RequestSearch } from "../../search.ts";
import { exportRequests } from "./export-requests.ts";

const said = texts(
  {
    export: "Export CSV",
    cancel: "Cancel export",
    rows: (count: string) => `Rows so far: ${count}`,
    done: (count: string) => `Exported. Rows: ${count}`,
  },
  {
    export: "导出 CSV",
    cancel: "取消导出",
    rows: (count: string) => `已导出 ${count} 行`,
    done: (count: string) => `导出完成，共 ${count} 行`,
  },
);

export function useExport(search: RequestSearch) {
  const t = useTexts(said);
  const format = useFormat();
  const transport = useTransport();
  const [rows, setRows] = useState(0);
  const running = useRef<AbortController>(undefined);
  const run = useMutation({
    async mutationFn() {
      const stop = new AbortController();
      running.current = stop;
      setRows(0);
      let count = 0;
      const onRows = (so: number) => {
        count = so;
        setRows(so);
      };
      try {
        const client = createClient(UsageService, transport);
        download(await exportRequests({ client, search, signal: stop.signal, onRows }), "requests.csv");
        notify(t.done(format.count(count)));
      } catch (error) {
        if (!stop.signal.aborted) throw error;
      }
    },
  });
  useEffect(() => () => running.current?.abort(), []);
  return { run, rows, cancel: () => running.current?.abort() };
}

type Export = ReturnType<typeof useExport>;

export function ExportButton({ run, rows, cancel }: Export) {
  const t = useTexts(said);
  const format = useFormat();
  if (run.isPending) {
    return (
      <Group gap="xs">
        <Text size="sm" role="status">
          {t.rows(format.count(rows))}
        </Text>
        <Button variant="default" leftSection={<IconX size={16} aria-hidden />} onClick={cancel}>
          {t.cancel}
        </Button>
      </Group>
    );
  }
  return (
    <Button variant="default" leftSection={<IconDownload size={16} aria-hidden />} onClick={() => run.mutate()}>
      {t.export}
    </Button>
  );
}

export function ExportFailure({ run }: Export) {
  return run.error ? <Failure error={run.error} retry={() => run.mutate()} /> : null;
}
