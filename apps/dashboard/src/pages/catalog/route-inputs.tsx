import {
  ActionIcon,
  Autocomplete,
  Box,
  Button,
  Checkbox,
  Collapse,
  Fieldset,
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { IconArrowDown, IconArrowUp, IconGripVertical } from '@tabler/icons-react';
import { useRef, useState, type DOMAttributes } from 'react';
import { listedModelsQuery, type ReadCatalog } from '../../api/catalog.ts';
import { AddItem, RemoveItem } from '../../parts/list-inputs.tsx';
import { newRoute, type ModelFields } from './model-fields.ts';

/** Aligns controls without a label with labeled inputs, in px. */
const BESIDE_INPUTS = 24;

/** Maximum number of suggestions of a provider's models; typing finds the others. */
const MOST_SUGGESTED = 50;

interface RouteInputsProps {
  readonly form: UseFormReturnType<ModelFields>;
  readonly catalog: ReadCatalog;
}

/** The routes of a model, in the order in which they are tried. */
export function RouteInputs({ form, catalog }: RouteInputsProps) {
  const { routes } = form.values;
  const providers = [...new Set(catalog.providers.map(({ name }) => name))];
  const list = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const drop = () => {
    if (drag !== null && drag.from !== drag.to) form.reorderListItem('routes', drag);
    setDrag(null);
  };
  return (
    <Fieldset variant="unstyled" legend={<b>Routes</b>}>
      <Stack gap="xs">
        <Text size="xs" c="dimmed">
          Tried in this order until one succeeds. Adjacent routes with a weight share the load by weight.
        </Text>
        <Stack gap="xs" ref={list}>
          {routes.map(({ id }, index) => (
            <RouteInput
              key={id}
              form={form}
              catalog={catalog}
              providers={providers}
              index={index}
              mark={markOf(drag, index)}
              handle={{
                onPointerDown: ({ currentTarget, pointerId }) => {
                  currentTarget.setPointerCapture(pointerId);
                  setDrag({ from: index, to: index });
                },
                onPointerMove: ({ clientY }) => {
                  if (drag !== null) setDrag({ from: index, to: placeAt(clientY, index, list.current) });
                },
                onPointerUp: drop,
                onPointerCancel: () => setDrag(null),
              }}
            />
          ))}
        </Stack>
        <Group>
          <AddItem onClick={() => form.insertListItem('routes', newRoute(providers[0] ?? ''))}>Add route</AddItem>
        </Group>
      </Stack>
    </Fieldset>
  );
}

/** A route being dragged: its old and new position. */
interface Drag {
  readonly from: number;
  readonly to: number;
}

/** The position of a route dropped at this y of the viewport: below those whose middle is above it. */
function placeAt(y: number, from: number, list: HTMLElement | null): number {
  const others = [...(list?.children ?? [])].filter((_, index) => index !== from);
  return others.filter((other) => {
    const { top, height } = other.getBoundingClientRect();
    return top + height / 2 < y;
  }).length;
}

/** How a route is marked during a drag: as the dragged one, or with the drop position before or after it. */
function markOf(drag: Drag | null, index: number): 'dragged' | 'before' | 'after' | undefined {
  if (drag === null) return undefined;
  if (index === drag.from) return 'dragged';
  if (index !== drag.to) return undefined;
  return drag.to < drag.from ? 'before' : 'after';
}

interface RouteInputProps extends RouteInputsProps {
  readonly providers: readonly string[];
  readonly index: number;
  readonly mark: ReturnType<typeof markOf>;
  readonly handle: Pick<
    DOMAttributes<HTMLButtonElement>,
    'onPointerDown' | 'onPointerMove' | 'onPointerUp' | 'onPointerCancel'
  >;
}

function RouteInput({ form, catalog, providers, index, mark, handle }: RouteInputProps) {
  const [opened, { toggle }] = useDisclosure(false);
  const { kind, name, routes } = form.values;
  // Queries the provider only once the user is about to enter a model.
  const [isAsked, setAsked] = useState(false);
  const listed = useQuery({
    ...listedModelsQuery(catalog, routes[index]?.provider ?? ''),
    ...(!isAsked && { enabled: false }),
  });
  const nth = `route ${index + 1}`;
  const field = (of: string) => form.getInputProps(`routes.${index}.${of}`);
  const checkbox = (of: string) => form.getInputProps(`routes.${index}.${of}`, { type: 'checkbox' });
  const move = (by: number) => {
    const to = index + by;
    if (to >= 0 && to < routes.length) form.reorderListItem('routes', { from: index, to });
  };
  return (
    <Box className="surface route" p="sm" data-mark={mark}>
      <Group align="flex-start" gap="xs">
        {routes.length > 1 && (
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            mt={BESIDE_INPUTS}
            className="drag-handle"
            aria-label={`Drag ${nth}, or move it with the arrow keys`}
            {...handle}
            onKeyDown={(event) => {
              if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
              event.preventDefault();
              move(event.key === 'ArrowUp' ? -1 : 1);
            }}
          >
            <IconGripVertical size={18} />
          </ActionIcon>
        )}
        <Select
          label="Provider"
          aria-label={`Provider of ${nth}`}
          flex={1}
          miw={130}
          allowDeselect={false}
          data={providers}
          {...field('provider')}
        />
        <Autocomplete
          label="Model ID"
          aria-label={`Model ID of ${nth}`}
          flex={1}
          miw={130}
          description="The provider’s name for it, such as gpt-image-1"
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          placeholder={name}
          data={listed.data ?? []}
          limit={MOST_SUGGESTED}
          comboboxProps={{ width: 'max-content', position: 'bottom-start' }}
          maxDropdownHeight={260}
          // The form's own props already use onFocus.
          onFocusCapture={() => setAsked(true)}
          {...field('model')}
        />
        <NumberInput
          label="Weight"
          aria-label={`Weight of ${nth}`}
          w={84}
          min={1}
          max={1000}
          placeholder="None"
          {...field('weight')}
        />
        <Group gap={2} wrap="nowrap" mt={BESIDE_INPUTS}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Move ${nth} up`}
            disabled={index === 0}
            onClick={() => move(-1)}
          >
            <IconArrowUp size={18} />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Move ${nth} down`}
            disabled={index === routes.length - 1}
            onClick={() => move(1)}
          >
            <IconArrowDown size={18} />
          </ActionIcon>
          <RemoveItem name={nth} disabled={routes.length === 1} onClick={() => form.removeListItem('routes', index)} />
        </Group>
      </Group>
      {kind === 'image' && (
        <>
          <Button variant="transparent" size="compact-xs" px={0} mt={6} aria-expanded={opened} onClick={toggle}>
            {opened ? 'Hide capabilities' : 'Capabilities'}
          </Button>
          <Collapse expanded={opened}>
            <SimpleGrid cols={{ base: 1, xs: 2 }} mt="xs">
              <Checkbox label="Accepts reference images" {...checkbox('edits')} />
              <Checkbox label="Accepts masks" {...checkbox('masks')} />
              <Checkbox label="Accepts markup" {...checkbox('markup')} />
              <NumberInput label="Maximum reference images" placeholder="16" min={1} max={16} {...field('images')} />
              <NumberInput
                label="Images per provider call"
                description="At most. Requests for more images aren’t sent here."
                inputWrapperOrder={['label', 'input', 'description', 'error']}
                placeholder="Provider default"
                min={1}
                max={10}
                {...field('max_n')}
              />
              <TagsInput
                label="Supported sizes"
                description="Width x height. Leave blank for any."
                placeholder="1024x1024"
                {...field('sizes')}
              />
            </SimpleGrid>
          </Collapse>
        </>
      )}
    </Box>
  );
}
