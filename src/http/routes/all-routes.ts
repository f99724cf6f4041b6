import { Plain, type Route, route } from '../route.ts'
import { actionRoutes } from './action-routes.ts'
import { againRoutes } from './again-routes.ts'
import { ledgerRoutes } from './ledger-routes.ts'
import { nightRoutes } from './night-routes.ts'
import { runRoutes } from './run-routes.ts'
import { searchRoutes, serviceRoutes } from './service-routes.ts'
import { healthRoutes, standingRoutes } from './standing-routes.ts'
import { valueRoutes } from './value-routes.ts'

/**
 * Every route of the API.
 * @param describe writes the description of the routes, itself among them; called once, when somebody asks for it.
 */
export function allRoutes(describe: (routes: readonly Route[]) => object): readonly Route[] {
  let description: string | undefined
  const routes: Route[] = [
    ...healthRoutes,
    ...nightRoutes,
    ...runRoutes,
    ...ledgerRoutes,
    ...valueRoutes,
    ...searchRoutes,
    ...serviceRoutes,
    ...standingRoutes,
    ...actionRoutes,
    ...againRoutes,
    route({
      id: 'describe',
      method: 'GET',
      path: '/openapi.json',
      summary: 'This description, in OpenAPI 3.1',
      access: 'open',
      answers: { 200: 'application/json' },
      handle: () => {
        description ??= JSON.stringify(describe(routes))
        return new Plain('application/json; charset=utf-8', description)
      },
    }),
  ]
  return routes
}
