-- Compares Great Britain's carbon intensity with its mix, by the publisher's factors in gCO2/kWh (Carbon Intensity
-- Forecast Methodology). Imports are between France's 53 and the Netherlands' 474. Daily means may differ by 10 g plus
-- 10%: some gas plants are open-cycle (651), and shares are rounded.
WITH factors(fuel, low, high) AS (
    VALUES ('gas', 394, 394), ('coal', 937, 937), ('oil', 935, 935), ('biomass', 120, 120), ('other', 300, 300),
           ('imports', 53, 474)
),
mix AS (
    SELECT zone, ts, sum(value * coalesce(low, 0)) / 100 AS low, sum(value * coalesce(high, 0)) / 100 AS high
    FROM generation LEFT JOIN factors USING (fuel)
    WHERE unit = '%'
    GROUP BY ALL
    HAVING sum(value) BETWEEN 95 AND 105
)
SELECT
    zone, timezone(tz, starts_at)::DATE AS day,
    format('{:.0f} gCO2/kWh, where the mix gives {:.0f} to {:.0f}', avg(value), avg(low), avg(high)) AS detail
FROM carbon_intensity JOIN mix USING (zone, ts) JOIN zones USING (zone)
GROUP BY ALL
HAVING avg(value) NOT BETWEEN 0.9 * avg(low) - 10 AND 1.1 * avg(high) + 10
