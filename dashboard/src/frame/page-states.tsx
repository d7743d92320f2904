/** Page states: the views that replace a page while it loads, when it fails, and when its address is unknown. */
import { Button, Center, Stack } from "@mantine/core";
import { IconMapQuestion } from "@tabler/icons-react";
import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { FileMissing, mayReopen, reopen } from "../fetched.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Waiting } from "../parts/answer.tsx";
import { Empty } from "../parts/empty.tsx";
import { Failure } from "../parts/failure.tsx";

const said = texts(
  {
    missing: "There is no such page",
    check: "The address leads nowhere, or to something that is not yours.",
    home: "Go to the overview",
  },
  { missing: "找不到此页面", check: "该地址不存在，或您无权查看。", home: "返回概览" },
);

export function PageOpening() {
  return <Waiting lines={5} />;
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  const isFile = error instanceof FileMissing;
  useEffect(() => {
    if (!isFile || !mayReopen()) return;
    void reopen();
    const timer = setInterval(() => void reopen(), 3_000);
    return () => clearInterval(timer);
  }, [isFile]);
  return (
    <Stack p="md" maw={560}>
      <Failure error={error} retry={isFile ? () => void reopen() : reset} />
    </Stack>
  );
}

interface Props {
  /** outside is whether there is no frame around it. */
  readonly outside?: boolean;
}

export function PageMissing({ outside = false }: Props) {
  const t = useTexts(said);
  return (
    <Center mih="60dvh" component={outside ? "main" : "div"}>
      <Empty
        icon={IconMapQuestion}
        title={t.missing}
        order={1}
        action={
          <Button component={Link} to="/" variant="default">
            {t.home}
          </Button>
        }
      >
        {t.check}
      </Empty>
    </Center>
  );
}
