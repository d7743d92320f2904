/** The frame around every signed-in page: navigation and the user menu. It sends other visitors to the sign-in page. */
import { AppShell, Burger, Group, ScrollArea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Navigate, Outlet, useRouter } from "@tanstack/react-router";
import { lazy, memo, Suspense, useState } from "react";
import { fetched } from "../fetched.ts";
import { texts, useTexts } from "../language/language.tsx";
import { PaletteButton } from "../palette/palette-button.tsx";
import { Boundary } from "../parts/boundary.tsx";
import { useSession } from "../session.tsx";
import classes from "./app-frame.module.css";
import { LanguageSwitch } from "./language-switch.tsx";
import { Mark } from "./mark.tsx";
import { Navigation } from "./navigation.tsx";
import { ThemeSwitch } from "./theme-switch.tsx";
import { UserMenu } from "./user-menu.tsx";

const said = texts({ skip: "Skip to the content", menu: "Menu" }, { skip: "跳到正文", menu: "菜单" });

const Corner = lazy(fetched(() => import("./corner.tsx")));
const SignInAgain = lazy(fetched(() => import("../pages/sign-in/sign-in-again.tsx")));
const Palette = lazy(fetched(() => import("../palette/palette.tsx")));

export function AppFrame() {
  const t = useTexts(said);
  const { user, hasEnded } = useSession();
  const [opened, { toggle, close }] = useDisclosure();
  if (!user) return <ToSignIn />;
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 240, breakpoint: "sm", collapsed: { mobile: !opened } }}
      padding={{ base: "md", sm: "lg" }}
    >
      <a href="#content" className={classes.skip}>
        {t.skip}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={t.menu}
              aria-expanded={opened}
            />
            <Mark brief />
          </Group>
          <Group gap={4} wrap="nowrap">
            <PaletteButton />
            <LanguageSwitch />
            <ThemeSwitch />
            <UserMenu user={user} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label={t.menu}>
        <ScrollArea p="sm">
          <Navigation operator={user.operator} onNavigate={close} />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} className={classes.main}>
        <div className={classes.content}>
          <Outlet />
          <Suspense>
            <Corner />
            <Palette operator={user.operator} />
          </Suspense>
          {hasEnded && (
            <Boundary fallback={() => <ToSignIn />}>
              <Suspense>
                <SignInAgain email={user.email} />
              </Suspense>
            </Boundary>
          )}
        </div>
      </AppShell.Main>
    </AppShell>
  );
}

/** ToSignIn redirects to the sign-in page, once: while that page loads, this component stays and renders again. */
const ToSignIn = memo(function ToSignIn() {
  const { state } = useRouter();
  const [search] = useState(() => (state.location.href === "/" ? {} : { to: state.location.href }));
  return <Navigate to="/sign-in" search={search} />;
});
