import {
  ActionIcon,
  AppShell,
  Badge,
  Box,
  Burger,
  Group,
  Stack,
  Text,
  Tooltip,
  useMatches,
  VisuallyHidden,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, type LinkProps } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { approvalCountQuery } from '../api/approvals.ts';
import { firingQuery } from '../api/alerts.ts';
import { useMay, useSession } from '../api/queries.ts';
import type { Ability } from '../api/types.ts';
import {
  IconAdjustments,
  IconBell,
  IconBuilding,
  IconChartBar,
  IconChecklist,
  IconFileText,
  IconHome,
  IconKey,
  IconLibraryPhoto,
  IconList,
  IconLogout,
  IconPhoto,
  IconServer,
  IconUserShield,
  IconStack2,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import { Mark } from '../parts/logo.tsx';
import { NoAccess } from '../parts/page.tsx';
import { AccountSwitch } from './account-switch.tsx';
import { Commands } from './commands.tsx';
import { DensitySwitch } from './density.tsx';
import { SchemeSwitch } from './scheme.tsx';
import { useSignOut } from './use-sign-out.ts';

/** The pages in groups; each page needs an ability. */
const GROUPS: readonly PageGroup[] = [
  {
    title: null,
    pages: [
      { to: '/', needs: 'self.manage', label: 'Overview', icon: <IconHome size={18} /> },
      { to: '/keys', needs: 'keys.read', label: 'Keys', icon: <IconKey size={18} /> },
      { to: '/playground', needs: 'tasks.create', label: 'Playground', icon: <IconPhoto size={18} /> },
      { to: '/gallery', needs: 'tasks.read', label: 'Gallery', icon: <IconLibraryPhoto size={18} /> },
      { to: '/tasks', needs: 'tasks.read', label: 'Tasks', icon: <IconList size={18} /> },
      { to: '/batches', needs: 'tasks.read', label: 'Batches', icon: <IconStack2 size={18} /> },
      {
        to: '/approvals',
        needs: 'tasks.approve',
        label: 'Approvals',
        icon: <IconChecklist size={18} />,
        count: <Held />,
      },
      { to: '/end-users', needs: 'end_users.manage', label: 'End users', icon: <IconUserShield size={18} /> },
      { to: '/usage', needs: 'usage.read', label: 'Usage', icon: <IconChartBar size={18} /> },
      { to: '/webhooks', needs: 'webhooks.read', label: 'Webhooks', icon: <IconWebhook size={18} /> },
    ],
  },
  {
    title: 'Account',
    pages: [
      { to: '/team', needs: 'team.manage', label: 'Team', icon: <IconUsers size={18} /> },
      { to: '/alerts', needs: 'alerts.manage', label: 'Alerts', icon: <IconBell size={18} />, count: <Firing /> },
      { to: '/audit', needs: 'audit.read', label: 'Audit log', icon: <IconFileText size={18} /> },
    ],
  },
  {
    title: 'Installation',
    pages: [
      {
        to: '/catalog',
        needs: 'installation.manage',
        label: 'Providers and models',
        icon: <IconAdjustments size={18} />,
      },
      { to: '/operation', needs: 'installation.manage', label: 'Status and queue', icon: <IconServer size={18} /> },
      { to: '/accounts', needs: 'installation.manage', label: 'Accounts', icon: <IconBuilding size={18} /> },
    ],
  },
];

interface PageGroup {
  readonly title: string | null;
  readonly pages: readonly {
    readonly to: NonNullable<LinkProps['to']>;
    readonly needs: Ability;
    readonly label: string;
    readonly icon: ReactNode;
    /** A badge with the number of items that need attention. */
    readonly count?: ReactNode;
  }[];
}

/** Sidebar on wide screens, drawer on phones, with the page next to it. */
export function Shell() {
  const may = useMay();
  const groups = GROUPS.map((group) => ({ ...group, pages: group.pages.filter(({ needs }) => may(needs)) }));
  const [opened, { toggle, close }] = useDisclosure(false);
  const isPhone = useMatches({ base: true, sm: false });
  return (
    <AppShell
      header={{ height: { base: 56, sm: 0 } }}
      navbar={{ width: 260, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a className="skip-link" href="#main">
        Skip to content
      </a>
      <AppShell.Header hiddenFrom="sm" bg="var(--surface)" withBorder>
        <Group h="100%" px="md" justify="space-between">
          <Brand />
          <Burger opened={opened} onClick={toggle} size="sm" aria-label={opened ? 'Close menu' : 'Open menu'} />
        </Group>
      </AppShell.Header>
      {/* A closed drawer is only off-screen, so its links have to leave the tab order. */}
      <AppShell.Navbar p="md" bg="var(--surface)" aria-label="Pages" inert={isPhone && !opened}>
        <Box visibleFrom="sm" mb="lg" px={6}>
          <Brand />
        </Box>
        <Commands pages={groups.flatMap(({ pages }) => pages)} onOpen={close} />
        <Stack gap={4} flex={1} style={{ overflowY: 'auto' }}>
          {groups
            .filter(({ pages }) => pages.length > 0)
            .map(({ title, pages }) => (
              <Fragment key={title}>
                {title !== null && (
                  <Text size="xs" fw={600} c="dimmed" px={12} pt="md" pb={4}>
                    {title}
                  </Text>
                )}
                {pages.map(({ to, label, icon, count }) => (
                  <Link
                    key={to}
                    to={to}
                    className="page-link"
                    activeOptions={{ exact: to === '/', includeSearch: false }}
                    onClick={close}
                  >
                    {icon}
                    {label}
                    {count}
                  </Link>
                ))}
              </Fragment>
            ))}
        </Stack>
        <Person onLeave={close} />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <PageOrRefusal />
      </AppShell.Main>
    </AppShell>
  );
}

/** Number of firing alerts; renders nothing if there are none. */
function Firing() {
  const { data } = useQuery(firingQuery);
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Badge data-color="red" className="numbers" ml="auto" miw="max-content">
      {data.data.length}
      {data.has_more && '+'}
      <VisuallyHidden> firing</VisuallyHidden>
    </Badge>
  );
}

/** Number of requests that wait for an approval; renders nothing if there are none. */
function Held() {
  const { data } = useQuery(approvalCountQuery);
  if (data === undefined || data.count === 0) return null;
  return (
    <Badge data-color="amber" className="numbers" ml="auto" miw="max-content">
      {data.count.toLocaleString('en')}
      <VisuallyHidden> waiting</VisuallyHidden>
    </Badge>
  );
}

/** A page opened by URL without permission says why it is empty, instead of calling the API in vain. */
function PageOrRefusal() {
  const path = useLocation({ select: ({ pathname }) => `/${pathname.split('/')[1] ?? ''}` });
  const may = useMay();
  const page = GROUPS.flatMap(({ pages }) => pages).find(({ to }) => to === path);
  if (page === undefined || may(page.needs)) return <Outlet />;
  return <NoAccess title={page.label} icon={page.icon} needs={page.needs} />;
}

function Brand() {
  return (
    <Group gap={10} wrap="nowrap">
      <Mark />
      <Text fw={700} fz="lg" lts="-0.01em">
        Darkroom
      </Text>
    </Group>
  );
}

function Person({ onLeave }: { readonly onLeave: () => void }) {
  const { person, account, accounts } = useSession();
  const signOut = useSignOut();
  return (
    <Box pt="sm" style={{ borderTop: '1px solid var(--line)' }}>
      <AccountSwitch />
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <Link to="/profile" className="person" onClick={onLeave} title={person.email}>
          <Text size="sm" fw={600} truncate>
            {person.name}
          </Text>
          <Text size="xs" c="dimmed" truncate>
            Profile · {accounts.length > 1 ? person.email : account.name}
          </Text>
        </Link>
        <Group gap={2} wrap="nowrap">
          <DensitySwitch />
          <SchemeSwitch />
          <Tooltip label="Sign out">
            <ActionIcon
              variant="subtle"
              color="gray"
              size="md"
              aria-label="Sign out"
              loading={signOut.isPending}
              onClick={() => signOut.mutate()}
            >
              <IconLogout size={18} />
            </ActionIcon>
          </Tooltip>
        </Group>
      </Group>
    </Box>
  );
}
