// The Worker under test: an empty Durable Object whose storage the suites borrow.

import { DurableObject } from "cloudflare:workers";

export class Place extends DurableObject {}

declare global {
  namespace Cloudflare {
    interface Env {
      readonly PLACE: DurableObjectNamespace<Place>;
    }
  }
}

export default { fetch: () => new Response(null, { status: 404 }) };
