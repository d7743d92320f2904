/** The user's own settings: profile, appearance, password, second factor, sessions. */
import { texts, useTexts } from "../../language/language.tsx";
import { Page } from "../../parts/page.tsx";
import { AppearanceSection } from "./appearance-section.tsx";
import { PasswordSection } from "./password-section.tsx";
import { ProfileSection } from "./profile-section.tsx";
import { SecondFactorSection } from "./second-factor-section.tsx";
import { SessionsSection } from "./sessions-section.tsx";

const said = texts(
  { title: "Settings", about: "Who you are here, how the pages look, and how you sign in." },
  { title: "设置", about: "您的身份信息、界面外观与登录方式。" },
);

export function SettingsPage() {
  const t = useTexts(said);
  return (
    <Page title={t.title} about={t.about}>
      <ProfileSection />
      <AppearanceSection />
      <PasswordSection />
      <SecondFactorSection />
      <SessionsSection />
    </Page>
  );
}
