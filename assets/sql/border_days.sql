-- Selects a border's or interconnector's mean import and energy in each direction per civil day. Import is positive.
WITH placed AS (
    SELECT
        zone, metric, month, counterparty, link, date, day_start, unit, value,
        least(r.ts + seconds, day_end) - r.ts AS weight
    FROM readings r JOIN calendar c ON r.ts - r.ts % 1800 = c.ts
    WHERE counterparty IS NOT NULL OR link IS NOT NULL
)
SELECT
    zone, metric, month, date, day_start AS ts, counterparty, link, unit,
    exact_mean(sum(CAST(value AS DECIMAL(18, 6)) * weight), sum(weight)) AS mean, min(value) AS min, max(value) AS max,
    CAST(sum(weight) AS INTEGER) AS seconds_covered,
    coalesce(sum(value * weight) FILTER (value > 0), 0) / 3600 AS import_mwh,
    coalesce(sum(-value * weight) FILTER (value < 0), 0) / 3600 AS export_mwh
FROM placed GROUP BY ALL
