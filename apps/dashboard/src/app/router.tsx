import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { askedIn } from '../api/authorizations.ts';
import { restoreKept } from '../api/kept-draft.ts';
import { queryClient, sessionQuery, signInQuery } from '../api/queries.ts';
import { RequestError } from '../api/request.ts';
import { Rows } from '../parts/page.tsx';
import { Inside } from '../pages/sign-in/inside.tsx';
import { Failed, NotFound } from './failed.tsx';
import { CONSOLE } from '../api/place.ts';
import { keepReturnAddress, takeReturnAddress } from './return-address.ts';
import type { AuditFilters } from '../api/audit.ts';
import type { RefusedFilters } from '../api/refused.ts';
import type { DeliveryFilters } from '../api/webhooks.ts';
import type { GalleryFilters } from '../pages/gallery/gallery-filters.tsx';
import type { TaskFilters } from '../pages/tasks/task-filters.ts';
import type { UsageFilters } from '../pages/usage/usage-filters.tsx';

const root = createRootRoute({ component: Outlet, errorComponent: Failed });

const signIn = createRoute({
  getParentRoute: () => root,
  path: 'sign-in',
  loader: () => queryClient.ensureQueryData(signInQuery),
  component: lazyRouteComponent(() => import('../pages/sign-in/sign-in.tsx'), 'SignInPage'),
});
const linkPages = () => import('../pages/sign-in/link-pages.tsx');
const firstRun = createRoute({
  getParentRoute: () => root,
  path: 'first-run',
  component: lazyRouteComponent(linkPages, 'FirstRunPage'),
});
const invite = createRoute({
  getParentRoute: () => root,
  path: 'invite',
  component: lazyRouteComponent(linkPages, 'InvitePage'),
});
const resetPassword = createRoute({
  getParentRoute: () => root,
  path: 'reset-password',
  component: lazyRouteComponent(linkPages, 'ResetPasswordPage'),
});
const forgotPassword = createRoute({
  getParentRoute: () => root,
  path: 'forgot-password',
  component: lazyRouteComponent(() => import('../pages/sign-in/forgot-password.tsx'), 'ForgotPasswordPage'),
});

/** All pages that need a sign-in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  loader: async () => {
    try {
      const { person } = await queryClient.ensureQueryData(sessionQuery);
      await restoreKept(person.id);
    } catch (error) {
      if (!(error instanceof RequestError) || error.status !== 401) throw error;
      keepReturnAddress();
      // The router expects a thrown redirect.
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw redirect({ to: '/sign-in' });
    }
  },
  component: Inside,
});

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  // The target of a sign-in. Reads the session first, so that the requested page is kept when a sign-in is needed.
  loader: async () => {
    await queryClient.ensureQueryData(sessionQuery);
    const wanted = takeReturnAddress();
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    if (wanted !== undefined) throw redirect({ href: wanted });
  },
  component: lazyRouteComponent(() => import('../pages/overview/overview.tsx'), 'OverviewPage'),
});
/** Inside the shell, so the menu still works. */
const unknown = createRoute({ getParentRoute: () => inside, path: '$', component: NotFound });
const keys = createRoute({
  getParentRoute: () => inside,
  path: 'keys',
  component: lazyRouteComponent(() => import('../pages/keys/keys.tsx'), 'KeysPage'),
});
/** Where MCP clients send their users, with what they ask for in the address. */
const authorize = createRoute({
  getParentRoute: () => inside,
  path: 'authorize',
  validateSearch: askedIn,
  component: lazyRouteComponent(() => import('../pages/authorize/authorize.tsx'), 'AuthorizePage'),
});
const playground = createRoute({
  getParentRoute: () => inside,
  path: 'playground',
  component: lazyRouteComponent(() => import('../pages/playground/playground.tsx'), 'PlaygroundPage'),
});

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const tasks = createRoute({
  getParentRoute: () => inside,
  path: 'tasks',
  validateSearch: (search): TaskFilters => ({
    status: text(search['status']),
    model: text(search['model']),
    provider: text(search['provider']),
    error: text(search['error']),
    key: text(search['key']),
    end_user: text(search['end_user']),
    tag: text(search['tag']),
    text: text(search['text']),
    order: text(search['order']),
    from: text(search['from']),
    to: text(search['to']),
  }),
  component: lazyRouteComponent(() => import('../pages/tasks/tasks.tsx'), 'TasksPage'),
});
const refused = createRoute({
  getParentRoute: () => inside,
  path: 'tasks/refused',
  validateSearch: (search): RefusedFilters => ({
    hours: text(search['hours']),
    key: text(search['key']),
    code: text(search['code']),
    installation: text(search['installation']),
  }),
  component: lazyRouteComponent(() => import('../pages/refused/refused.tsx'), 'RefusedPage'),
});
const approvals = createRoute({
  getParentRoute: () => inside,
  path: 'approvals',
  component: lazyRouteComponent(() => import('../pages/approvals/approvals.tsx'), 'ApprovalsPage'),
});
const endUsers = createRoute({
  getParentRoute: () => inside,
  path: 'end-users',
  component: lazyRouteComponent(() => import('../pages/end-users/end-users.tsx'), 'EndUsersPage'),
});
const batches = createRoute({
  getParentRoute: () => inside,
  path: 'batches',
  component: lazyRouteComponent(() => import('../pages/batches/batches.tsx'), 'BatchesPage'),
});
const batch = createRoute({
  getParentRoute: () => inside,
  path: 'batches/$id',
  component: lazyRouteComponent(() => import('../pages/batches/batch.tsx'), 'BatchPage'),
});
const task = createRoute({
  getParentRoute: () => inside,
  path: 'tasks/$id',
  component: lazyRouteComponent(() => import('../pages/tasks/task.tsx'), 'TaskPage'),
});
const gallery = createRoute({
  getParentRoute: () => inside,
  path: 'gallery',
  validateSearch: (search): GalleryFilters => ({
    text: text(search['text']),
    model: text(search['model']),
    provider: text(search['provider']),
    key: text(search['key']),
    person: text(search['person']),
    favorites: search['favorites'] === 'true' ? 'true' : undefined,
  }),
  component: lazyRouteComponent(() => import('../pages/gallery/gallery.tsx'), 'GalleryPage'),
});
const usage = createRoute({
  getParentRoute: () => inside,
  path: 'usage',
  validateSearch: (search): UsageFilters => ({
    days: text(search['days']),
    from: text(search['from']),
    to: text(search['to']),
    group: text(search['group']),
    model: text(search['model']),
    key: text(search['key']),
    provider: text(search['provider']),
    end_user: text(search['end_user']),
    tag: text(search['tag']),
  }),
  component: lazyRouteComponent(() => import('../pages/usage/usage.tsx'), 'UsagePage'),
});
const webhooks = createRoute({
  getParentRoute: () => inside,
  path: 'webhooks',
  validateSearch: (search): DeliveryFilters => ({
    status: text(search['status']),
    endpoint: text(search['endpoint']),
    task: text(search['task']),
  }),
  component: lazyRouteComponent(() => import('../pages/webhooks/webhooks.tsx'), 'WebhooksPage'),
});
const audit = createRoute({
  getParentRoute: () => inside,
  path: 'audit',
  validateSearch: (search): AuditFilters => ({
    who: text(search['who']),
    kind: text(search['kind']),
    text: text(search['text']),
    from: text(search['from']),
    to: text(search['to']),
  }),
  component: lazyRouteComponent(() => import('../pages/audit/audit.tsx'), 'AuditPage'),
});

const alerts = createRoute({
  getParentRoute: () => inside,
  path: 'alerts',
  component: lazyRouteComponent(() => import('../pages/alerts/alerts.tsx'), 'AlertsPage'),
});
const team = createRoute({
  getParentRoute: () => inside,
  path: 'team',
  component: lazyRouteComponent(() => import('../pages/team/team.tsx'), 'TeamPage'),
});
const accounts = createRoute({
  getParentRoute: () => inside,
  path: 'accounts',
  component: lazyRouteComponent(() => import('../pages/team/accounts.tsx'), 'AccountsPage'),
});
const operation = createRoute({
  getParentRoute: () => inside,
  path: 'operation',
  component: lazyRouteComponent(() => import('../pages/operation/operation.tsx'), 'OperationPage'),
});

const catalog = createRoute({
  getParentRoute: () => inside,
  path: 'catalog',
  component: lazyRouteComponent(() => import('../pages/catalog/catalog.tsx'), 'CatalogPage'),
});

const profile = createRoute({
  getParentRoute: () => inside,
  path: 'profile',
  component: lazyRouteComponent(() => import('../pages/sign-in/profile.tsx'), 'ProfilePage'),
});

/** The former address of the profile, for bookmarks. */
const account = createRoute({
  getParentRoute: () => inside,
  path: 'account',
  beforeLoad: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw redirect({ to: '/profile', replace: true });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    firstRun,
    invite,
    resetPassword,
    forgotPassword,
    inside.addChildren([
      overview,
      keys,
      authorize,
      playground,
      gallery,
      tasks,
      refused,
      approvals,
      endUsers,
      batches,
      batch,
      task,
      usage,
      webhooks,
      alerts,
      team,
      audit,
      operation,
      catalog,
      accounts,
      profile,
      account,
      unknown,
    ]),
  ]),
  basepath: CONSOLE,
  // Values of the URL stay strings, even if they look like numbers.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const entries = Object.entries(search).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    );
    return entries.length === 0 ? '' : `?${new URLSearchParams(entries).toString()}`;
  },
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Rows />,
  scrollRestoration: true,
});

// A clicked link disappears with its page, so the focus moves to the new page.
router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
  if (fromLocation !== undefined && pathChanged) document.getElementById('main')?.focus({ preventScroll: true });
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
