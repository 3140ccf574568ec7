// Starts the pages: the token first, then the address, the theme and the sources.

import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import { mount } from "svelte";
import { followSources } from "./api/sources.svelte";
import { prepareToken } from "./api/token";
import App from "./App.svelte";
import "./design/tokens.css";
import "./design/base.css";
import { followAddress } from "./lib/route.svelte";
import { followTheme } from "./lib/theme.svelte";
import { followErrors } from "./lib/unexpected.svelte";

async function start(): Promise<void> {
  followErrors();
  followTheme();
  await prepareToken();
  followAddress();
  mount(App, { target: document.getElementById("app")! });
  await followSources();
}

void start();
