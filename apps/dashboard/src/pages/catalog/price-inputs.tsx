import {
  Box,
  Fieldset,
  Group,
  NumberInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  type InputWrapperProps,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { AddItem, RemoveItem } from '../../parts/list-inputs.tsx';
import { tokenClassesOf } from '../../parts/token-classes.ts';
import { hasTiers, hasTokens, newPrice, TIERS, type ModelFields } from './model-fields.ts';

/** Aligns the inputs of a row, with or without descriptions. */
const BELOW: NonNullable<InputWrapperProps['inputWrapperOrder']> = ['label', 'input', 'description', 'error'];

interface PriceInputsProps {
  readonly form: UseFormReturnType<ModelFields>;
  readonly currency: string;
}

/** The prices for callers, each from a start date. */
export function PriceInputs({ form, currency }: PriceInputsProps) {
  const { prices, kind } = form.values;
  const last = prices.length - 1;
  return (
    <Fieldset variant="unstyled" legend={<b>Prices</b>}>
      <Stack gap="xs">
        <Text size="xs" c="dimmed">
          What callers pay, in {currency}, oldest first. Without a price, costs are recorded as unknown, except for free
          providers.
        </Text>
        {prices.map((price, index) => (
          <Box key={price.id} className="surface" p="sm">
            <Group align="flex-start" wrap="nowrap" gap="xs">
              <SimpleGrid cols={{ base: 2, sm: 3 }} flex={1} spacing="xs">
                <TextInput label="From (UTC)" type="date" required {...form.getInputProps(`prices.${index}.from`)} />
                {kind === 'image' &&
                  TIERS.map((tier) => (
                    <TextInput
                      key={tier}
                      label={`${tier.toUpperCase()} image`}
                      placeholder="0.04"
                      required={hasTiers(price) || !hasTokens(price, kind)}
                      {...form.getInputProps(`prices.${index}.tiers.${tier}`)}
                    />
                  ))}
                {tokenClassesOf(kind).map(([name, label]) => (
                  <NumberInput
                    key={name}
                    label={label}
                    description="1M tokens"
                    inputWrapperOrder={BELOW}
                    min={0}
                    required={(name === 'input' || name === 'output') && (kind === 'chat' || hasTokens(price, kind))}
                    {...form.getInputProps(`prices.${index}.tokens.${name}`)}
                  />
                ))}
                {kind === 'image' && (
                  <NumberInput
                    label="Charge if canceled"
                    description="% of the image price"
                    inputWrapperOrder={BELOW}
                    min={0}
                    max={100}
                    step={10}
                    suffix="%"
                    {...form.getInputProps(`prices.${index}.cancelled_percent`)}
                  />
                )}
              </SimpleGrid>
              <RemoveItem name={`price ${index + 1}`} onClick={() => form.removeListItem('prices', index)} />
            </Group>
          </Box>
        ))}
        {kind === 'image' && last >= 0 && (
          <Text size="xs" c="dimmed">
            The price of an image is one amount, or one for each quality: “auto 0.02, high 0.08”. With prices of tokens,
            it is the most that an image costs; without it, callers with a budget can’t use the model. A kind of tokens
            without a price costs as much as the text, the images, or the output that it is part of.
          </Text>
        )}
        <Group>
          <AddItem onClick={() => form.insertListItem('prices', newPrice())}>Add price</AddItem>
        </Group>
      </Stack>
    </Fieldset>
  );
}
