/** The sections of the page: their places in its address, and their titles. */
import { texts } from "../../language/language.tsx";

export const ownSections = texts(
  {
    profile: "Profile",
    appearance: "Appearance",
    password: "Password",
    "second-factor": "Second factor",
    sessions: "Sessions",
  },
  {
    profile: "个人信息",
    appearance: "外观",
    password: "密码",
    "second-factor": "两步验证",
    sessions: "登录会话",
  },
);
