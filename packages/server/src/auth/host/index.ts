export { type OpenAuth, openAuth } from "./open-auth.ts";
