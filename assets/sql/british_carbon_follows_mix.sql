-- Compares Great Britain's carbon intensity with one from Elexon's mix and the imports, by NESO's factors in gCO2/kWh.
-- An import that `origins` does not name may have any value up to the Netherlands' 474. Daily means may differ by 10 g
-- plus 10%, because some gas plants are open-cycle (651).
WITH factors(fuel, low, high) AS (
    VALUES ('gas', 394, 394), ('coal', 937, 937), ('oil', 935, 935), ('biomass', 120, 120), ('other', 300, 300)
),
origins(counterparty, low, high) AS (VALUES ('FR', 53, 53), ('NL', 474, 474), ('Ireland', 458, 458)),
parts AS (
    SELECT zone, ts // 1800 AS half, greatest(value, 0) AS mw, seconds, coalesce(low, 0) AS low,
           coalesce(high, 0) AS high, false AS is_import
    FROM mix JOIN resolutions USING (resolution) LEFT JOIN factors USING (fuel)
    WHERE zone = 'GB'
    UNION ALL
    SELECT zone, ts // 1800, greatest(value, 0), seconds, coalesce(low, 0), coalesce(high, 474), true
    FROM borders JOIN resolutions USING (resolution) LEFT JOIN origins USING (counterparty)
    WHERE zone = 'GB'
),
computed AS (
    SELECT zone, half, sum(mw * seconds * low) / sum(mw * seconds) AS low,
           sum(mw * seconds * high) / sum(mw * seconds) AS high
    FROM parts
    GROUP BY ALL
    HAVING sum(mw) > 0 AND count(DISTINCT is_import) = 2
)
SELECT
    c.zone, timezone(tz, starts_at)::DATE AS day,
    format('{:.0f} gCO2/kWh, where mix and imports give {:.0f} to {:.0f}', avg(value), avg(low), avg(high)) AS detail
FROM carbon_intensity c JOIN computed ON computed.zone = c.zone AND half = ts // 1800 JOIN zones ON zones.zone = c.zone
GROUP BY c.zone, day
HAVING avg(value) NOT BETWEEN 0.9 * avg(low) - 10 AND 1.1 * avg(high) + 10
