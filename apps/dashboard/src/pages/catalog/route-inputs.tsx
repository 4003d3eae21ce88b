import {
  ActionIcon,
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
  TextInput,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash } from '@tabler/icons-react';
import { newRoute, type ModelFields } from './model-fields.ts';

interface RouteInputsProps {
  readonly form: UseFormReturnType<ModelFields>;
  readonly providers: readonly string[];
}

/** The routes of a model in the order in which they are tried. */
export function RouteInputs({ form, providers }: RouteInputsProps) {
  const { routes } = form.values;
  return (
    <Fieldset variant="unstyled" legend={<b>Routes</b>}>
      <Stack gap="xs">
        <Text size="xs" c="dimmed">
          Tried in this order until one succeeds. Adjacent routes with a weight share the load by weight.
        </Text>
        {routes.map(({ id }, index) => (
          <RouteInput key={id} form={form} providers={providers} index={index} />
        ))}
        <Group>
          <Button
            variant="subtle"
            size="xs"
            leftSection={<IconPlus size={14} />}
            onClick={() => form.insertListItem('routes', newRoute(providers[0] ?? ''))}
          >
            Add route
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}

function RouteInput({ form, providers, index }: RouteInputsProps & { readonly index: number }) {
  const [opened, { toggle }] = useDisclosure(false);
  const { kind, name, routes } = form.values;
  const nth = `route ${index + 1}`;
  const field = (of: string) => form.getInputProps(`routes.${index}.${of}`);
  const checkbox = (of: string) => form.getInputProps(`routes.${index}.${of}`, { type: 'checkbox' });
  return (
    <Box className="surface" p="sm">
      <Group align="flex-end" gap="xs">
        <Select
          label="Provider"
          aria-label={`Provider of ${nth}`}
          flex={1}
          miw={130}
          allowDeselect={false}
          data={providers}
          {...field('provider')}
        />
        <TextInput
          label="Model ID"
          aria-label={`Model ID of ${nth}`}
          flex={1}
          miw={130}
          placeholder={name}
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
        <Group gap={2} wrap="nowrap">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Move ${nth} up`}
            disabled={index === 0}
            onClick={() => form.reorderListItem('routes', { from: index, to: index - 1 })}
          >
            <IconArrowUp size={18} />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Move ${nth} down`}
            disabled={index === routes.length - 1}
            onClick={() => form.reorderListItem('routes', { from: index, to: index + 1 })}
          >
            <IconArrowDown size={18} />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Remove ${nth}`}
            disabled={routes.length === 1}
            onClick={() => form.removeListItem('routes', index)}
          >
            <IconTrash size={18} />
          </ActionIcon>
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
              <NumberInput label="Reference images at most" placeholder="16" min={1} max={16} {...field('images')} />
              <NumberInput
                label="Images per call at most"
                placeholder="As its type"
                min={1}
                max={10}
                {...field('max_n')}
              />
              <TagsInput
                label="Sizes it offers"
                description="Width x height; blank = any"
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
